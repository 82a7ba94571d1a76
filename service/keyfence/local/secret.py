"""Secrets made once and kept in a file that only its owner reads."""

import contextlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from keyfence.errors import KeyfenceError


class SecretUnusable(KeyfenceError):
    """A secret's file that cannot be read, written or understood."""


def keep(path: Path, make: Callable[[], bytes]) -> bytes:
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
