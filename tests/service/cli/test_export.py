"""keyfence export checks its options first and leaves no incomplete file."""

from pathlib import Path

import pytest

from tests.service.cli.conftest import Run, error_message


def test_a_wrong_tenant_id_is_an_error(run: Run, tmp_path: Path) -> None:
    output = error_message(run("export", "--tenant", "a*", "--out", tmp_path / "lines"))
    assert output.startswith("--tenant 'a*' is not a tenant id: ")
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_is_left_alone_if_the_export_fails(run: Run, tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("before")
    error_message(run("export", "--tenant", "acme", "--out", tmp_path / "lines"))
    assert (tmp_path / "lines").read_text() == "before"


def test_a_file_that_cannot_be_written_is_an_error(run: Run, tmp_path: Path) -> None:
    output = error_message(run("export", "--tenant", "acme", "--out", tmp_path / "none" / "lines"))
    assert output.endswith("cannot be written: No such file or directory.")


def test_an_interrupted_export_leaves_the_file_alone_and_exits_with_130(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    (tmp_path / "lines").write_text("before")
    monkeypatch.setattr("keyfence.cli.import_export.connected_table", interrupt)
    result = run("export", "--tenant", "acme", "--out", tmp_path / "lines")
    assert (result.exit_code, result.stdout, result.stderr) == (130, "", "Interrupted.\n")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("lines", "before")]
