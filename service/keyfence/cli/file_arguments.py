"""Reads files that are named on the command line."""

import sys
from pathlib import Path

from keyfence.errors import BadInput


def read_file_argument(name: str) -> bytes:
    """Returns the content of a file, or of stdin if the name is `-`. Raises BadInput if it cannot be read."""
    try:
        return sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise BadInput(f"{name} cannot be read: {error.strerror or error}.") from error
