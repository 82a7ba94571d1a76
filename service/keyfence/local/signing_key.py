"""The local key that signs certificates of offboarding."""

import re
import secrets
from pathlib import Path

from keyfence.development import MARK
from keyfence.local.secret import corrupt, keep

FILE = "signing-key"


def signing_key(directory: Path) -> str:
    """The directory's own key, with the mark that shows in every certificate that it signs."""
    path = directory / FILE
    text = keep(path, _make).decode("ascii", errors="replace").strip()
    if not re.fullmatch(rf"{MARK}[A-Za-z0-9_-]{{43}}", text):
        raise corrupt(path, "a signing key")
    return text


def _make() -> bytes:
    return f"{MARK}{secrets.token_urlsafe(32)}\n".encode()
