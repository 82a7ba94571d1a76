"""`Importer`: writes the lines of a file into a table, each record once."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, BinaryIO

from keyfence.bulk.json_lines import MAX_LINE_BYTES, BadLines, LineError, decode_line
from keyfence.bulk.line_differences import differing_fields
from keyfence.bulk.record_fields import Fields, parse_text
from keyfence.bulk.record_kind import AlreadyExists, RecordKind, RecordKinds, RecordWriter
from keyfence.errors import BadInput, Conflict, NotFound
from keyfence.store import timestamps
from keyfence.store.dynamodb.pacer import Pacer
from keyfence.store.dynamodb.retry_policy import BACKGROUND_RETRIES
from keyfence.store.table import Table

GROUP_SIZE = 100
"""How many lines are imported together. One BatchGetItem reads at most 100 items."""
MAX_CONCURRENT_WRITES = 16
"""How many lines of a group are written at the same time."""
MAX_ERRORS = 20
"""The check of a file stops after this many errors."""


@dataclass(frozen=True, slots=True)
class ParsedLine:
    """A record, and the number of its line in the file, from 1."""

    number: int
    kind: RecordKind[Any]
    record: Any


@dataclass(slots=True)
class ImportCounts:
    """Numbers of lines by kind: written, already in the table, or left out because the record has expired."""

    written: Counter[str] = field(default_factory=Counter)
    existing: Counter[str] = field(default_factory=Counter)
    expired: Counter[str] = field(default_factory=Counter)

    @property
    def lines(self) -> int:
        return sum(counts.total() for counts in (self.written, self.existing, self.expired))


class KeyedLocks:
    """Lets at most `limit` tasks run at a time. Tasks with a common key run one by one, in order of arrival."""

    def __init__(self, limit: int) -> None:
        self._semaphore = asyncio.Semaphore(limit)
        self._end_by_key: dict[Hashable, asyncio.Future[None]] = {}
        """For each key, the end of the last task that asked for the key."""

    @asynccontextmanager
    async def hold(self, keys: Iterable[Hashable]) -> AsyncIterator[None]:
        own_keys = set(keys)
        own_end = asyncio.get_running_loop().create_future()
        earlier_ends = {self._end_by_key[key] for key in own_keys if key in self._end_by_key}
        self._end_by_key.update(dict.fromkeys(own_keys, own_end))
        try:
            if earlier_ends:
                await asyncio.wait(earlier_ends)
            async with self._semaphore:
                yield
        finally:
            own_end.set_result(None)


def parse_lines(file: BinaryIO, kinds: RecordKinds) -> Iterator[ParsedLine | LineError]:
    """Yields each line as a record or as an error. Skips blank lines.

    Stops at a line that is too long: the end of the line is not known, so neither is the start of the next one."""
    number = 0
    while content := file.readline(MAX_LINE_BYTES + 1):
        number += 1
        if len(content) > MAX_LINE_BYTES:
            yield LineError(number, None, f"is longer than {MAX_LINE_BYTES:,} bytes")
            return
        if content.strip():
            yield _parse_line(number, content, kinds)


def check_lines(file: BinaryIO, kinds: RecordKinds) -> int:
    """Returns the number of lines. Raises BadLines with the first errors if there are any."""
    count, errors = 0, list[LineError]()
    for line in parse_lines(file, kinds):
        count += 1
        if isinstance(line, LineError):
            errors.append(line)
        if len(errors) == MAX_ERRORS:
            break
    if errors:
        raise BadLines(errors)
    return count


def _ignore_progress(_lines: int) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Importer:
    """Imports lines in groups of one kind. Loads the stored records of a group in one batch, and writes those records
    of the group that are not stored.

    The lines of a group are written concurrently. So a line may refer to the record of an earlier line only if that
    record is of another kind, or if both have a lock key in common."""

    writer: RecordWriter
    kinds: RecordKinds
    counts: ImportCounts = field(default_factory=ImportCounts)
    on_progress: Callable[[int], None] = _ignore_progress
    now: Callable[[], datetime] = timestamps.utc_now

    @classmethod
    def for_table(
        cls,
        table: Table,
        kinds: RecordKinds,
        *,
        rate: float | None = None,
        counts: ImportCounts | None = None,
        on_progress: Callable[[int], None] = _ignore_progress,
    ) -> "Importer":
        """Returns an importer that retries throttled calls for longer than a request does.

        `rate` limits the items written in a second. Imports are logged if the table has an activity log."""
        patient_table = replace(table, caller=replace(table.caller, retry_policy=BACKGROUND_RETRIES))
        return cls(RecordWriter(patient_table, Pacer(rate)), kinds, counts or ImportCounts(), on_progress)

    async def run(self, file: BinaryIO) -> ImportCounts:
        """Imports all lines. Raises BadLines after the first group with a line that cannot be imported."""
        for group in _group_by_kind(parse_lines(file, self.kinds)):
            if errors := await self._import_group(group):
                raise BadLines(errors)
        return self.counts

    async def _import_group(self, group: Sequence[ParsedLine]) -> list[LineError]:
        kind = group[0].kind
        stored_records = await kind.load(self.writer.table, [kind.key(line.record) for line in group])
        locks, errors = KeyedLocks(MAX_CONCURRENT_WRITES), list[LineError]()

        async def import_line(line: ParsedLine, stored: Any) -> None:
            async with locks.hold(kind.lock_keys(line.record)):
                try:
                    await self._import_line(line, stored)
                except (BadInput, Conflict, NotFound) as error:
                    errors.append(LineError.from_error(line.number, error))

        try:
            async with asyncio.TaskGroup() as tasks:
                for line, stored in zip(group, stored_records, strict=True):
                    tasks.create_task(import_line(line, stored))
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from failures
        return sorted(errors, key=lambda error: error.line)

    async def _import_line(self, line: ParsedLine, stored: Any) -> None:
        if stored is None and line.kind.is_expired(line.record, self.now()):
            counts = self.counts.expired
        elif stored is None and await self._write(line):
            counts = self.counts.written
        else:
            _require_equal(line, stored or await self._load(line))
            counts = self.counts.existing
        counts[line.kind.name] += 1
        self.on_progress(1)

    async def _write(self, line: ParsedLine) -> bool:
        """Returns False if another writer has stored the record in the meantime."""
        try:
            await line.kind.write(self.writer, line.record)
        except AlreadyExists:
            return False
        return True

    async def _load(self, line: ParsedLine) -> Any:
        """Returns the stored record. Raises AlreadyExists if the table has only parts of it."""
        (stored,) = await line.kind.load(self.writer.table, [line.kind.key(line.record)])
        if stored is None:
            raise AlreadyExists()
        return stored


def _parse_line(number: int, content: bytes, kinds: RecordKinds) -> ParsedLine | LineError:
    def parse_kind(value: object) -> RecordKind[Any]:
        if (kind := kinds.get(parse_text(value))) is None:
            raise BadInput(f"must be one of {', '.join(kinds)}")
        return kind

    try:
        fields = Fields(decode_line(content))
        kind = fields.required("type", parse_kind)
        return ParsedLine(number, kind, kind.from_fields(fields))
    except BadInput as error:
        return LineError.from_error(number, error)


def _group_by_kind(lines: Iterable[ParsedLine | LineError]) -> Iterator[list[ParsedLine]]:
    """Yields groups of consecutive lines of one kind. Raises BadLines at a line that cannot be parsed."""
    group: list[ParsedLine] = []
    for line in lines:
        if isinstance(line, LineError):
            raise BadLines([line])
        if group and (len(group) == GROUP_SIZE or group[0].kind != line.kind):
            yield group
            group = []
        group.append(line)
    if group:
        yield group


def _require_equal(line: ParsedLine, stored: Any) -> None:
    """Raises Conflict with the first field in which the stored record differs from the line."""
    difference = next(differing_fields(line.kind.to_line(line.record), line.kind.to_line(stored)), None)
    if difference is not None:
        path, imported_value, stored_value = difference
        raise Conflict(
            f"the tenant has this {line.kind.name} already, with {stored_value!r} instead of {imported_value!r}",
            field=path,
        )
