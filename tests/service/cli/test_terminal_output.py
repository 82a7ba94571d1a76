"""Progress is one moving line on a terminal, and plain lines elsewhere."""

import pytest

from keyfence.cli.terminal_output import progress_bar, status_line


def test_without_a_terminal_each_step_is_a_line_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    with status_line() as show_status:
        show_status("one [of] two")
        show_status("two")
    assert capsys.readouterr() == ("", "one [of] two ...\ntwo ...\n")


def test_on_a_terminal_the_status_line_is_overwritten(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    with status_line() as show_status:
        show_status("one [of] two")
    out, err = capsys.readouterr()
    assert out == ""
    assert "one [of] two ..." in err
    assert "\x1b[2K" in err


def test_without_a_terminal_a_progress_bar_prints_its_description_once(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("importing [3] lines", 3) as advance:
        advance(1)
    assert capsys.readouterr() == ("", "importing [3] lines ...\n")


def test_on_a_terminal_a_progress_bar_shows_its_count(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    with progress_bar("importing [3] lines", 3) as advance:
        advance(2)
    out, err = capsys.readouterr()
    assert out == ""
    assert "importing [3] lines" in err
    assert "2/3" in err
