"""The gzip file with its hash chain."""

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
    """A line that is not the one that follows."""


def initial_hash(export: str) -> str:
    """No two exports begin alike, so that no line of one fits into another."""
    return sha256(export.encode()).hexdigest()


def chain_lines(head: str, items: Iterable[Item]) -> tuple[str, bytes]:
    """The lines of these items after that head, and the head after them."""
    lines = []
    for item in items:
        text = orjson.dumps(item, option=orjson.OPT_SORT_KEYS)
        head = _next(head, text)
        lines.append(HASH + head.encode() + ITEM + text + END)
    return head, b"".join(lines)


def verify_line(head: str, line: bytes) -> tuple[str, bytes]:
    """The head after this line, and its item as it is spelled."""
    start = len(HASH) + _DIGITS
    told, text = line[len(HASH) : start], line[start + len(ITEM) : -len(END)]
    if line != HASH + told + ITEM + text + END:
        raise BadLine("it is not spelled as a line of an export")
    after = _next(head, text)
    if told != after.encode():
        raise BadLine("it does not fit its hash, or what stands before it")
    return after, text


def key_of(text: bytes) -> Item:
    item = orjson.loads(text)
    return {"PK": item["PK"], "SK": item["SK"]}


def _next(head: str, text: bytes) -> str:
    return sha256(bytes.fromhex(head) + text).hexdigest()


SUFFIX = ".jsonl.gz"


class ExportDamaged(Conflict):
    """An export that is not what was written; `line` is the first that is not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportDigest:
    """What a file was found to hold when it was read from end to end."""

    lines: int
    chain_hash: str
    size: int
    sha256: str


@dataclass(slots=True)
class ExportFile:
    """One process at a time has it open."""

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
        """What stands behind `at` was written by somebody who did not live to say so, and is written again."""
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
    """Each item as it is spelled, with the head after it; Damaged at the first line that does not follow."""
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
    """A new name is as lasting as what it names."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
