"""The export file of an offboarding: gzip, one item in each line, and a chain of hashes over all lines."""

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

HASH, ITEM, END = b'{"hash":"', b'","item":', b"}\n"
_DIGITS = 64


class BadLine(ValueError):
    """A line that is malformed, or does not continue the chain of hashes."""


def initial_hash(export: str) -> str:
    """Returns the hash before the first line. It differs for each export, so that no line fits into another export."""
    return sha256(export.encode()).hexdigest()


def chain_lines(head: str, items: Iterable[Item]) -> tuple[str, bytes]:
    """Returns the hash after these items, and their lines."""
    lines = []
    for item in items:
        text = orjson.dumps(item, option=orjson.OPT_SORT_KEYS)
        head = _next(head, text)
        lines.append(HASH + head.encode() + ITEM + text + END)
    return head, b"".join(lines)


def verify_line(head: str, line: bytes) -> tuple[str, bytes]:
    """Returns the hash after this line, and the text of its item. Raises BadLine."""
    start = len(HASH) + _DIGITS
    stated, text = line[len(HASH) : start], line[start + len(ITEM) : -len(END)]
    if line != HASH + stated + ITEM + text + END:
        raise BadLine("it is not in the format of an export")
    after = _next(head, text)
    if stated != after.encode():
        raise BadLine("its hash does not fit its item and the line before it")
    return after, text


def key_of(text: bytes) -> Item:
    item = orjson.loads(text)
    return {"PK": item["PK"], "SK": item["SK"]}


def _next(head: str, text: bytes) -> str:
    return sha256(bytes.fromhex(head) + text).hexdigest()


SUFFIX = ".jsonl.gz"


class ExportDamaged(Conflict):
    """An export that is not what was written. `line` is the first wrong line, if it is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportDigest:
    """The result of reading a whole export file."""

    lines: int
    chain_hash: str
    size: int
    sha256: str


@dataclass(slots=True)
class ExportFile:
    """An export file that one process at a time can write to."""

    path: Path
    _file: BinaryIO | None = field(default=None, repr=False)

    def open(self) -> None:
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

    def append(self, at: int, lines: bytes) -> int:
        """Writes lines at position `at`, and returns the end. Drops bytes after `at`, which a crashed worker wrote."""
        if self._file is None:
            raise TypeError("the file is not open")
        if (size := os.fstat(self._file.fileno()).st_size) < at:
            raise ExportDamaged(f"the export {self.path} has {size:,} bytes where {at:,} were written", line=None)
        try:
            return _written(self._file, at, gzip.compress(lines, mtime=0) if lines else b"")
        except OSError as error:
            raise Conflict(f"the export {self.path} cannot be written: {error.strerror or error}") from error


def _written(file: BinaryIO, at: int, member: bytes) -> int:
    file.truncate(at)
    file.seek(at)
    file.write(member)
    file.flush()
    os.fsync(file.fileno())
    return file.tell()


def items(path: Path, export: str) -> Iterator[tuple[str, bytes]]:
    """Yields the hash after each line and the text of its item. Raises ExportDamaged at the first wrong line."""
    head, line = initial_hash(export), 1
    try:
        with gzip.open(path) as content:
            for text in content:
                head, item = verify_line(head, text)
                yield head, item
                line += 1
    except BadLine as bad:
        raise ExportDamaged(f"line {line:,} of {path} is not what was exported: {bad}", line=line) from bad
    except (OSError, EOFError, zlib.error) as error:
        raise ExportDamaged(f"{path} cannot be read from line {line:,} on: {error}", line=line) from error


def digest_export(path: Path, export: str) -> ExportDigest:
    lines, head = 0, initial_hash(export)
    for after, _ in items(path, export):
        lines, head = lines + 1, after
    with path.open("rb") as content:
        digest = file_digest(content, "sha256").hexdigest()
    return ExportDigest(lines=lines, chain_hash=head, size=path.stat().st_size, sha256=digest)


def sync_directory(directory: Path) -> None:
    """Makes a new file name durable, as its content is."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
