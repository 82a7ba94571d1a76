"""Opens files that are named on the command line, for reading and for writing."""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from keyfence.errors import BadInput

OUTPUT_FILE_MODE = 0o666
"""The permissions of a written file before the umask of the process is applied, as for files of other programs."""


def read_file_argument(name: str) -> bytes:
    """Returns the content of a file, or of stdin if the name is `-`. Raises BadInput if it cannot be read."""
    try:
        return sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise BadInput(f"{name} cannot be read: {error.strerror or error}.") from error


@contextmanager
def open_input(name: str) -> Iterator[BinaryIO]:
    """Yields a file that can be read twice. If the name is `-`, stdin is copied into a temporary file first."""
    try:
        if name != "-":
            with Path(name).open("rb") as file:
                yield file
        else:
            with tempfile.TemporaryFile() as copy:
                shutil.copyfileobj(sys.stdin.buffer, copy)
                copy.seek(0)
                yield copy
    except OSError as error:
        raise BadInput(f"{name} cannot be read: {error.strerror or error}.") from error


@contextmanager
def open_output(out: Path | None) -> Iterator[BinaryIO]:
    """Yields the file to write, or stdout if `out` is None. The file appears only when it is complete."""
    from keyfence.local.data_directory import atomic_file

    if out is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    try:
        with atomic_file(out, mode=OUTPUT_FILE_MODE) as file:
            yield file
    except OSError as error:
        raise BadInput(f"{out} cannot be written: {error.strerror or error}.") from error
