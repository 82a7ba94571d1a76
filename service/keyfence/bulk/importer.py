"""`Importer`: the lines of a file into a table, each record once."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from typing import Any, BinaryIO

from keyfence.bulk.json_fields import Fields, text
from keyfence.bulk.json_lines import MAX_LINE_BYTES, BadLines, LineError, decoded, differing_fields
from keyfence.bulk.record_kind import AlreadyExists, RecordKind, RecordKinds, RecordWriter
from keyfence.errors import BadInput, Conflict, NotFound
from keyfence.store import timestamps
from keyfence.store.dynamodb.pacer import Pacer
from keyfence.store.dynamodb.retry_policy import BACKGROUND_RETRIES
from keyfence.store.table import Table

GROUP_SIZE = 100
MAX_CONCURRENT_WRITES = 16
MAX_PROBLEMS = 20


@dataclass(frozen=True, slots=True)
class ParsedLine:
    """A record, and the number of its line in the file."""

    number: int
    kind: RecordKind[Any]
    record: Any


@dataclass(slots=True)
class ImportCounts:
    """How many lines of each kind were written, were stored already, or were left out because they have expired."""

    written: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    expired: Counter[str] = field(default_factory=Counter)

    @property
    def lines(self) -> int:
        return sum(counts.total() for counts in (self.written, self.found, self.expired))


class KeyedLocks:
    """Runs at most `limit` tasks at a time, and tasks with a common key one after the other, in the order they came."""

    def __init__(self, limit: int) -> None:
        self._last: dict[Hashable, asyncio.Future[None]] = {}
        self._running = asyncio.Semaphore(limit)

    @asynccontextmanager
    async def holding(self, keys: Iterable[Hashable]) -> AsyncIterator[None]:
        own_keys, done = set(keys), asyncio.get_running_loop().create_future()
        before = {self._last[key] for key in own_keys if key in self._last}
        self._last.update(dict.fromkeys(own_keys, done))
        try:
            if before:
                await asyncio.wait(before)
            async with self._running:
                yield
        finally:
            done.set_result(None)


def parse_lines(file: BinaryIO, kinds: RecordKinds) -> Iterator[ParsedLine | LineError]:
    """Skips blank lines. Stops after a line that is too long, since its end is not known."""
    number = 0
    while raw := file.readline(MAX_LINE_BYTES + 1):
        number += 1
        if len(raw) > MAX_LINE_BYTES:
            yield LineError(number, None, f"is longer than {MAX_LINE_BYTES:,} bytes")
            return
        if raw.strip():
            yield _parse_line(number, raw, kinds)


def check_lines(file: BinaryIO, kinds: RecordKinds) -> int:
    """Returns the number of lines. Raises BadLines, with the first problems, if any of them cannot be parsed."""
    count, problems = 0, []
    for line in parse_lines(file, kinds):
        count += 1
        if isinstance(line, LineError):
            problems.append(line)
        if len(problems) == MAX_PROBLEMS:
            break
    if problems:
        raise BadLines(problems)
    return count


def _ignore_progress(_lines: int) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Importer:
    """Imports lines in groups of one kind: loads what is stored in one batch, then writes the rest concurrently.

    A line can rely on the records of earlier lines if they are of another kind or have a lock key in common with it."""

    writer: RecordWriter
    kinds: RecordKinds
    counts: ImportCounts = field(default_factory=ImportCounts)
    on_progress: Callable[[int], None] = _ignore_progress
    now: Callable[[], datetime] = timestamps.utc_now

    @classmethod
    def into(
        cls,
        table: Table,
        kinds: RecordKinds,
        *,
        rate: float | None = None,
        counts: ImportCounts | None = None,
        on_progress: Callable[[int], None] = _ignore_progress,
    ) -> "Importer":
        """Retries throttled calls for longer than a request would. The table decides whether activity is logged."""
        patient = replace(table, caller=replace(table.caller, retry_policy=BACKGROUND_RETRIES))
        return cls(RecordWriter(patient, Pacer(rate)), kinds, counts or ImportCounts(), on_progress)

    async def run(self, file: BinaryIO) -> ImportCounts:
        """Raises BadLines at the first group that has a line that cannot be imported."""
        for group in _groups(parse_lines(file, self.kinds)):
            if problems := await self._import_group(group):
                raise BadLines(problems)
        return self.counts

    async def _import_group(self, group: Sequence[ParsedLine]) -> list[LineError]:
        kind = group[0].kind
        stored = await kind.load(self.writer.table, [kind.key(line.record) for line in group])
        locks, problems = KeyedLocks(MAX_CONCURRENT_WRITES), list[LineError]()

        async def import_line(line: ParsedLine, found: Any) -> None:
            async with locks.holding(kind.lock_keys(line.record)):
                try:
                    await self._import_line(line, found)
                except (BadInput, Conflict, NotFound) as error:
                    problems.append(LineError.of(line.number, error))

        try:
            async with asyncio.TaskGroup() as tasks:
                for line, found in zip(group, stored, strict=True):
                    tasks.create_task(import_line(line, found))
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from failures
        return sorted(problems, key=lambda problem: problem.line)

    async def _import_line(self, line: ParsedLine, found: Any) -> None:
        if found is None and line.kind.is_expired(line.record, self.now()):
            counts = self.counts.expired
        elif found is None and await self._write(line):
            counts = self.counts.written
        else:
            _require_equal(line, found or await self._load(line))
            counts = self.counts.found
        counts[line.kind.name] += 1
        self.on_progress(1)

    async def _write(self, line: ParsedLine) -> bool:
        try:
            await line.kind.write(self.writer, line.record)
        except AlreadyExists:
            return False
        return True

    async def _load(self, line: ParsedLine) -> Any:
        (found,) = await line.kind.load(self.writer.table, [line.kind.key(line.record)])
        if found is None:
            raise AlreadyExists()
        return found


def _parse_line(number: int, raw: bytes, kinds: RecordKinds) -> ParsedLine | LineError:
    def kind_named(value: object) -> RecordKind[Any]:
        if (kind := kinds.get(text(value))) is None:
            raise BadInput(f"must be one of {', '.join(kinds)}")
        return kind

    try:
        fields = Fields(decoded(raw))
        kind = fields.required("type", kind_named)
        return ParsedLine(number, kind, kind.from_fields(fields))
    except BadInput as error:
        return LineError.of(number, error)


def _groups(lines: Iterable[ParsedLine | LineError]) -> Iterator[list[ParsedLine]]:
    """Yields consecutive lines of one kind. Raises BadLines at a line that cannot be parsed."""
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
    """Raises Conflict, with the first field that differs, if the stored record differs from the line."""
    pair = line.kind.to_line(line.record), line.kind.to_line(stored)
    for path, imported, found in islice(differing_fields(*pair), 1):
        raise Conflict(
            f"the tenant has this {line.kind.name} already, with {found!r} instead of {imported!r}", field=path
        )
