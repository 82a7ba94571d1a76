"""keyfence export says what is wrong before it reaches for anything, and leaves no half a file."""

from pathlib import Path

from .conftest import Run, refusal


def test_a_tenant_id_that_is_none_is_said_in_a_sentence(run: Run, tmp_path: Path) -> None:
    said = refusal(run("export", "--tenant", "a*", "--out", tmp_path / "lines"))
    assert said.startswith("--tenant 'a*' is not a tenant id: ")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_there_stays_as_it_is_when_the_export_fails(run: Run, tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("before")
    refusal(run("export", "--tenant", "acme", "--out", tmp_path / "lines"))
    assert (tmp_path / "lines").read_text() == "before"


def test_a_place_that_cannot_be_written_is_said_in_a_sentence(run: Run, tmp_path: Path) -> None:
    said = refusal(run("export", "--tenant", "acme", "--out", tmp_path / "none" / "lines"))
    assert said.endswith("cannot be written: No such file or directory.")
