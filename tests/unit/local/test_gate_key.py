"""The gate's key is made once and stays in its directory."""

import stat
from pathlib import Path

import pytest

from keyfence.local.data_directory import GATE_KEY_FILE, SecretUnusable, gate_key


def test_the_gate_key_is_private_and_used_again(tmp_path: Path) -> None:
    key = gate_key(tmp_path)
    assert len(key) == 32
    assert gate_key(tmp_path) == key
    assert stat.S_IMODE((tmp_path / GATE_KEY_FILE).stat().st_mode) == 0o600


def test_two_directories_have_two_gate_keys(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    assert gate_key(tmp_path) != gate_key(tmp_path / "other")


@pytest.mark.parametrize("content", [b"", b"ab", b"\xff" * 64, b"g" * 64, b"a" * 65], ids=repr)
def test_a_corrupt_gate_key_is_said_in_a_sentence(tmp_path: Path, content: bytes) -> None:
    (tmp_path / GATE_KEY_FILE).write_bytes(content)
    with pytest.raises(SecretUnusable, match="does not hold a gate key"):
        gate_key(tmp_path)
