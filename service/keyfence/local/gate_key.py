"""The local key from which the gate's sessions and their secrets follow."""

import re
import secrets
from pathlib import Path

from keyfence.local.secret import corrupt, keep

FILE = "gate-key"


def gate_key(directory: Path) -> bytes:
    """The directory's own 32 bytes: sessions of one gate are good at the next one that is started on it."""
    path = directory / FILE
    text = keep(path, _make).decode("ascii", errors="replace").strip()
    if not re.fullmatch("[0-9a-f]{64}", text):
        raise corrupt(path, "a gate key")
    return bytes.fromhex(text)


def _make() -> bytes:
    return f"{secrets.token_hex(32)}\n".encode()
