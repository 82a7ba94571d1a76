"""The data directory is made private, or refused in a sentence."""

import stat
from pathlib import Path

import pytest

from keyfence.local.data_directory import DirectoryUnusable, data_directory


def test_a_new_directory_is_private_and_ignored_by_git(tmp_path: Path) -> None:
    made = data_directory(tmp_path / "a" / "b")
    assert stat.S_IMODE(made.stat().st_mode) == 0o700
    assert (made / ".gitignore").read_text() == "*\n"


def test_a_directory_that_was_there_is_left_as_it_was(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    data_directory(tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755


def test_a_file_in_its_place_is_said_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DirectoryUnusable, match=r"The data directory .*/file cannot be used: File exists\."):
        data_directory(tmp_path / "file")


def test_a_place_where_nothing_can_be_made_is_said_in_a_sentence() -> None:
    with pytest.raises(DirectoryUnusable, match="cannot be used"):
        data_directory(Path("/proc/keyfence"))


def test_a_directory_that_cannot_be_written_to_is_said_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    with pytest.raises(DirectoryUnusable, match="Permission denied"):
        data_directory(tmp_path)
