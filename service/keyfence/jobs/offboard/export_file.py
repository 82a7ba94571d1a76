"""The export file of an offboarding: gzip, one item in each line, and a chain of hashes over all lines.

The hash of a line covers its item and the hash of the line before it."""

import fcntl
import gzip
import os
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import file_digest, sha256
from pathlib import Path
from typing import BinaryIO

import orjson

from keyfence.errors import Conflict
from keyfence.store.codec import Item

BEFORE_HASH, BEFORE_ITEM, LINE_END = b'{"hash":"', b'","item":', b"}\n"
"""The bytes before the hash, between the hash and the item, and after the item of a line."""

HASH_DIGITS = 64
"""The length of a SHA-256 hash in hexadecimal."""

SUFFIX = ".jsonl.gz"


class BadLine(ValueError):
    """A line that is malformed, or does not continue the chain of hashes."""


def initial_hash(export: str) -> str:
    """Returns the hash from which the chain of an export starts. It depends on the name of the export, so that no line
    can be copied into another export."""
    return sha256(export.encode()).hexdigest()


def chain_lines(previous_hash: str, items: Iterable[Item]) -> tuple[str, bytes]:
    """Returns the hash of the last line, and the lines of these items."""
    line_hash, lines = previous_hash, []
    for item in items:
        item_text = orjson.dumps(item, option=orjson.OPT_SORT_KEYS)
        line_hash = _next_hash(line_hash, item_text)
        lines.append(BEFORE_HASH + line_hash.encode() + BEFORE_ITEM + item_text + LINE_END)
    return line_hash, b"".join(lines)


def verify_line(previous_hash: str, line: bytes) -> tuple[str, bytes]:
    """Returns the hash and the item of a line. Raises BadLine if the line does not continue the chain."""
    hash_end = len(BEFORE_HASH) + HASH_DIGITS
    line_hash, item_text = line[len(BEFORE_HASH) : hash_end], line[hash_end + len(BEFORE_ITEM) : -len(LINE_END)]
    if line != BEFORE_HASH + line_hash + BEFORE_ITEM + item_text + LINE_END:
        raise BadLine("it is not in the format of an export")
    right_hash = _next_hash(previous_hash, item_text)
    if line_hash != right_hash.encode():
        raise BadLine("its hash does not fit its item and the line before it")
    return right_hash, item_text


def key_of(item_text: bytes) -> Item:
    item = orjson.loads(item_text)
    return {"PK": item["PK"], "SK": item["SK"]}


def _next_hash(previous_hash: str, item_text: bytes) -> str:
    return sha256(bytes.fromhex(previous_hash) + item_text).hexdigest()


class ExportDamaged(Conflict):
    """The export file differs from what was written. `line` is the number of the first wrong line, if it is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportDigest:
    """The result of reading a whole export file."""

    lines: int
    chain_hash: str
    """The hash of the last line."""
    size: int
    """The size of the file in bytes."""
    sha256: str
    """The hash of the file."""


@dataclass(slots=True)
class ExportFile:
    """An export file. A lock makes sure that only one process writes to it."""

    path: Path
    _file: BinaryIO | None = field(default=None, repr=False)

    def open(self) -> None:
        """Opens and locks the file, and creates it if it does not exist. Raises Conflict if that is not possible."""
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._file = os.fdopen(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "r+b")
        except OSError as error:
            raise Conflict(f"the export {self.path} cannot be written: {error.strerror or error}") from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self.close()
            raise Conflict(f"another process is writing {self.path}") from error
        sync_directory(self.path.parent)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def append(self, position: int, lines: bytes) -> int:
        """Writes lines at a position, and returns the position after them.

        Bytes after the position are deleted: a worker wrote them and crashed before it saved its progress. Raises
        ExportDamaged if the file is shorter than the position."""
        if self._file is None:
            raise TypeError("the file is not open")
        if (size := os.fstat(self._file.fileno()).st_size) < position:
            raise ExportDamaged(f"the export {self.path} has {size:,} bytes where {position:,} were written", line=None)
        try:
            return _replace_end(self._file, position, gzip.compress(lines, mtime=0) if lines else b"")
        except OSError as error:
            raise Conflict(f"the export {self.path} cannot be written: {error.strerror or error}") from error


def _replace_end(file: BinaryIO, position: int, content: bytes) -> int:
    file.truncate(position)
    file.seek(position)
    file.write(content)
    file.flush()
    os.fsync(file.fileno())
    return file.tell()


def read_lines(path: Path, export: str) -> Iterator[tuple[str, bytes]]:
    """Yields the hash and the item of each line. Raises ExportDamaged at the first wrong line.

    `export` is the name under which the file was written, from which the chain of hashes starts."""
    line_hash, number = initial_hash(export), 1
    try:
        with gzip.open(path) as lines:
            for line in lines:
                line_hash, item_text = verify_line(line_hash, line)
                yield line_hash, item_text
                number += 1
    except BadLine as error:
        raise ExportDamaged(f"line {number:,} of {path} is not what was exported: {error}", line=number) from error
    except (OSError, EOFError, zlib.error) as error:
        raise ExportDamaged(f"{path} cannot be read from line {number:,} on: {error}", line=number) from error


def digest_export(path: Path, export: str) -> ExportDigest:
    """Reads and verifies the whole file. Raises ExportDamaged at the first wrong line."""
    lines, chain_hash = 0, initial_hash(export)
    for line_hash, _ in read_lines(path, export):
        lines, chain_hash = lines + 1, line_hash
    with path.open("rb") as content:
        digest = file_digest(content, "sha256").hexdigest()
    return ExportDigest(lines=lines, chain_hash=chain_hash, size=path.stat().st_size, sha256=digest)


def sync_directory(directory: Path) -> None:
    """Makes sure that the name of a new file survives a crash of the machine. `fsync` of the file saves only its
    content."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
