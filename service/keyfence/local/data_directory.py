"""The data directory and the secrets in it. Light imports only."""

import contextlib
import os
import re
import secrets
import tempfile
from collections.abc import Callable
from pathlib import Path

from keyfence.development import DEVELOPMENT_KEY_PREFIX
from keyfence.errors import KeyfenceError

DEFAULT = Path(".keyfence")
EXPORTS = "exports"


class DirectoryUnusable(KeyfenceError):
    """A data directory that cannot be made or written to."""


def data_directory(path: Path) -> Path:
    """The directory, made if need be, in which files can certainly be written."""
    try:
        if not path.is_dir():
            _make(path)
        with tempfile.TemporaryFile(dir=path):
            return path
    except OSError as error:
        raise DirectoryUnusable(f"The data directory {path} cannot be used: {error.strerror or error}.") from error


def _make(path: Path) -> None:
    """Private to its owner and ignored by git, since private keys will lie in it."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    (path / ".gitignore").write_text("*\n")


class SecretUnusable(KeyfenceError):
    """A secret's file that cannot be read, written or understood."""


def load_or_create_secret(path: Path, make: Callable[[], bytes]) -> bytes:
    """The secret in `path`, made when there is none; of two processes that make it at once, both get the first."""
    try:
        if not path.exists():
            _create(path, make())
        return path.read_bytes()
    except OSError as error:
        raise SecretUnusable(f"The key file {path} cannot be used: {error.strerror or error}.") from error


def corrupt(path: Path, expected: str) -> SecretUnusable:
    return SecretUnusable(f"The key file {path} does not hold {expected}: remove it and a new one is made.")


def _create(path: Path, content: bytes) -> None:
    """Linked into place when complete: nobody ever reads half a secret or replaces one that is in use."""
    descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
    finally:
        Path(draft).unlink()


CURSOR_KEY_FILE = "cursor-key"


def cursor_key(directory: Path) -> str:
    """The directory's own key, with the mark by which production recognises and refuses it."""
    path = directory / CURSOR_KEY_FILE
    text = load_or_create_secret(path, _make_cursor_key).decode("ascii", errors="replace").strip()
    if not re.fullmatch(rf"{DEVELOPMENT_KEY_PREFIX}[A-Za-z0-9_-]{{43}}", text):
        raise corrupt(path, "a cursor key")
    return text


def _make_cursor_key() -> bytes:
    return f"{DEVELOPMENT_KEY_PREFIX}{secrets.token_urlsafe(32)}\n".encode()


GATE_KEY_FILE = "gate-key"


def gate_key(directory: Path) -> bytes:
    """The directory's own 32 bytes: sessions of one gate are good at the next one that is started on it."""
    path = directory / GATE_KEY_FILE
    text = load_or_create_secret(path, _make_gate_key).decode("ascii", errors="replace").strip()
    if not re.fullmatch("[0-9a-f]{64}", text):
        raise corrupt(path, "a gate key")
    return bytes.fromhex(text)


def _make_gate_key() -> bytes:
    return f"{secrets.token_hex(32)}\n".encode()


SIGNING_KEY_FILE = "signing-key"


def signing_key(directory: Path) -> str:
    """The directory's own key, with the mark that shows in every certificate that it signs."""
    path = directory / SIGNING_KEY_FILE
    text = load_or_create_secret(path, _make_signing_key).decode("ascii", errors="replace").strip()
    if not re.fullmatch(rf"{DEVELOPMENT_KEY_PREFIX}[A-Za-z0-9_-]{{43}}", text):
        raise corrupt(path, "a signing key")
    return text


def _make_signing_key() -> bytes:
    return f"{DEVELOPMENT_KEY_PREFIX}{secrets.token_urlsafe(32)}\n".encode()
