"""A secret is made once, whoever else makes it at the same time."""

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from keyfence.local.data_directory import CURSOR_KEY_FILE, SecretUnusable, cursor_key, load_or_create_secret


def test_of_many_that_make_a_secret_at_once_all_get_the_same(tmp_path: Path) -> None:
    together = Barrier(8)

    def make(number: int) -> bytes:
        together.wait()
        return b"secret %d" % number

    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(lambda number: load_or_create_secret(tmp_path / "secret", lambda: make(number)), range(8)))
    assert len(found) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["secret"]


def test_a_failure_while_writing_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.link", full)
    with pytest.raises(SecretUnusable, match="No space left"):
        load_or_create_secret(tmp_path / "secret", lambda: b"x")
    assert list(tmp_path.iterdir()) == []


def test_a_secret_that_cannot_be_read_is_said_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    with pytest.raises(SecretUnusable, match="Is a directory"):
        load_or_create_secret(tmp_path / "secret", lambda: b"x")


def test_the_cursor_key_is_private_marked_and_used_again(tmp_path: Path) -> None:
    key = cursor_key(tmp_path)
    assert key.startswith("dev-")
    assert cursor_key(tmp_path) == key
    assert stat.S_IMODE((tmp_path / CURSOR_KEY_FILE).stat().st_mode) == 0o600


def test_two_directories_have_two_cursor_keys(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    assert cursor_key(tmp_path) != cursor_key(tmp_path / "other")


@pytest.mark.parametrize("content", [b"", b"dev-", b"dev-short", b"\xff" * 47, b"A" * 47], ids=repr)
def test_a_corrupt_cursor_key_is_said_in_a_sentence(tmp_path: Path, content: bytes) -> None:
    (tmp_path / CURSOR_KEY_FILE).write_bytes(content)
    with pytest.raises(SecretUnusable, match="does not hold a cursor key"):
        cursor_key(tmp_path)
