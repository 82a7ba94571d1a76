"""The local key that seals cursors."""

import re
import secrets
from pathlib import Path

from keyfence.development import MARK
from keyfence.local.secret import corrupt, keep

FILE = "cursor-key"


def cursor_key(directory: Path) -> str:
    """The directory's own key, with the mark by which production recognises and refuses it."""
    path = directory / FILE
    text = keep(path, _make).decode("ascii", errors="replace").strip()
    if not re.fullmatch(rf"{MARK}[A-Za-z0-9_-]{{43}}", text):
        raise corrupt(path, "a cursor key")
    return text


def _make() -> bytes:
    return f"{MARK}{secrets.token_urlsafe(32)}\n".encode()
