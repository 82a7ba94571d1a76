"""The data directory: where a local Keyfence keeps its keys, its engine and its data."""

import tempfile
from pathlib import Path

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
