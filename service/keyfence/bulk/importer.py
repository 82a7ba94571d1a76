"""Lines of a file into a table: parsed, grouped, each written once."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from typing import Any, BinaryIO

import orjson

from keyfence.bulk.fields import Fields, text
from keyfence.bulk.record_kind import IMPORTER, AlreadyExists, RecordKind, RecordWriter, differing_fields
from keyfence.domains.activity.activity_log import activity_log
from keyfence.domains.categories import bulk as categories
from keyfence.domains.customers import bulk as customers
from keyfence.domains.orders import bulk as orders
from keyfence.domains.orders.bulk_format import OrderRecord
from keyfence.domains.orders.model import is_purged
from keyfence.domains.products import bulk as products
from keyfence.errors import BadInput, Conflict, KeyfenceError, NotFound
from keyfence.store import timestamps
from keyfence.store.dynamodb.caller import RetryPolicy
from keyfence.store.dynamodb.flow_control import Pacer
from keyfence.store.table import Table


class KeyedLocks:
    """Who touches what somebody before touches waits for them; everybody else does not."""

    def __init__(self, at_once: int) -> None:
        self._last: dict[Hashable, asyncio.Future[None]] = {}
        self._slots = asyncio.Semaphore(at_once)

    @asynccontextmanager
    async def turn(self, touches: Iterable[Hashable]) -> AsyncIterator[None]:
        touched, done = set(touches), asyncio.get_running_loop().create_future()
        before = {self._last[thing] for thing in touched if thing in self._last}
        self._last.update(dict.fromkeys(touched, done))
        try:
            if before:
                await asyncio.wait(before)
            async with self._slots:
                yield
        finally:
            done.set_result(None)


KINDS: Mapping[str, RecordKind[Any]] = {
    kind.name: kind for kind in (customers.RECORDS, categories.RECORDS, products.RECORDS, orders.RECORDS)
}
LONGEST = 16 * 2**20


@dataclass(frozen=True, slots=True)
class ParsedLine:
    """A line that can be imported, by its number in the file."""

    number: int
    kind: RecordKind[Any]
    record: Any


@dataclass(frozen=True, slots=True)
class LineError:
    """What is wrong with a line, and in which of its fields."""

    line: int
    field: str | None
    message: str

    @classmethod
    def of(cls, number: int, error: KeyfenceError) -> "LineError":
        field = error.extensions.get("field")
        return cls(number, None if field is None else str(field), error.message)

    def __str__(self) -> str:
        return f"line {self.line}{f', {self.field}' if self.field else ''}: {self.message}"


def lines(file: BinaryIO) -> Iterator[ParsedLine | LineError]:
    """Blank ones are passed over; after one that does not end, nothing can be told."""
    number = 0
    while raw := file.readline(LONGEST + 1):
        number += 1
        if len(raw) > LONGEST:
            yield LineError(number, None, f"is longer than {LONGEST:,} bytes")
            return
        if raw.strip():
            yield _line(number, raw)


def _line(number: int, raw: bytes) -> ParsedLine | LineError:
    try:
        given = Fields(_parsed(raw))
        kind = given.take("type", _kind)
        return ParsedLine(number, kind, kind.read(given))
    except BadInput as refusal:
        return LineError.of(number, refusal)


def _parsed(raw: bytes) -> dict[str, Any]:
    try:
        document = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise BadInput(f"is not JSON: {error}") from None
    if not isinstance(document, dict):
        raise BadInput("must be an object")
    return document


def _kind(value: object) -> RecordKind[Any]:
    if (kind := KINDS.get(text(value))) is None:
        raise BadInput(f"must be one of {', '.join(KINDS)}")
    return kind


TOGETHER = 100
AT_ONCE = 16
MOST_PROBLEMS = 20
PATIENCE = RetryPolicy(attempts=12, first_pause=0.05, longest_pause=5.0)


class BadLines(KeyfenceError):
    """Lines that cannot be imported, each with its number and its field."""

    def __init__(self, problems: Sequence[LineError]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems


@dataclass(slots=True)
class ImportCounts:
    """How many lines of each kind were written, and how many were there already or are past their time."""

    written: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    expired: Counter[str] = field(default_factory=Counter)

    @property
    def lines(self) -> int:
        return sum(counts.total() for counts in (self.written, self.found, self.expired))


def quiet(_lines: int) -> None:
    """Nobody follows."""


def check_lines(file: BinaryIO) -> int:
    """How many lines there are, if every one of them is well formed."""
    count, problems = 0, []
    for one in lines(file):
        count += 1
        if isinstance(one, LineError):
            problems.append(one)
        if len(problems) == MOST_PROBLEMS:
            break
    if problems:
        raise BadLines(problems)
    return count


@dataclass(frozen=True, slots=True)
class Importer:
    """Takes lines in groups of one kind: what is there is found together, what is not is written side by side.

    A line may rely on what lines before it have brought if they are of another kind or touch the same things."""

    writer: RecordWriter
    tally: ImportCounts = field(default_factory=ImportCounts)
    tell: Callable[[int], None] = quiet
    now: Callable[[], datetime] = timestamps.utc_now

    @classmethod
    def into(
        cls,
        table: Table,
        *,
        rate: float | None = None,
        tally: ImportCounts | None = None,
        tell: Callable[[int], None] = quiet,
    ) -> "Importer":
        """With more patience than a request has, and an entry in the journal for every line."""
        patient = replace(table.caller, retry_policy=PATIENCE)
        noted = replace(table, caller=patient, activity_log=activity_log(IMPORTER))
        return cls(RecordWriter(noted, Pacer(rate)), tally or ImportCounts(), tell)

    async def run(self, file: BinaryIO) -> ImportCounts:
        for group in _groups(lines(file)):
            if problems := await self._group(group):
                raise BadLines(problems)
        return self.tally

    async def _group(self, group: Sequence[ParsedLine]) -> list[LineError]:
        found = await group[0].kind.find(self.writer.table, [line.record for line in group])
        lanes, problems = KeyedLocks(AT_ONCE), list[LineError]()

        async def take(line: ParsedLine, there: Any) -> None:
            async with lanes.turn(line.kind.touches(line.record)):
                try:
                    await self._settle(line, there)
                except (BadInput, Conflict, NotFound) as refusal:
                    problems.append(LineError.of(line.number, refusal))

        try:
            async with asyncio.TaskGroup() as tasks:
                for line, there in zip(group, found, strict=True):
                    tasks.create_task(take(line, there))
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from failures
        return sorted(problems, key=lambda problem: problem.line)

    async def _settle(self, line: ParsedLine, there: Any) -> None:
        if there is None and _is_over(line.record, self.now()):
            counts = self.tally.expired
        elif there is None and await self._written(line):
            counts = self.tally.written
        else:
            _compare(line, there or await self._found(line))
            counts = self.tally.found
        counts[line.kind.name] += 1
        self.tell(1)

    async def _written(self, line: ParsedLine) -> bool:
        try:
            await line.kind.write(self.writer, line.record)
        except AlreadyExists:
            return False
        return True

    async def _found(self, line: ParsedLine) -> Any:
        (there,) = await line.kind.find(self.writer.table, [line.record])
        if there is None:
            raise AlreadyExists()
        return there


def _groups(read: Iterable[ParsedLine | LineError]) -> Iterator[list[ParsedLine]]:
    """Lines of one kind that follow each other; a line that is not well formed ends it all."""
    group: list[ParsedLine] = []
    for one in read:
        if isinstance(one, LineError):
            raise BadLines([one])
        if group and (len(group) == TOGETHER or group[0].kind != one.kind):
            yield group
            group = []
        group.append(one)
    if group:
        yield group


def _is_over(record: object, now: datetime) -> bool:
    return isinstance(record, OrderRecord) and is_purged(record.order, now)


def _compare(line: ParsedLine, there: Any) -> None:
    given, kept = line.kind.spell(line.record), line.kind.spell(there)
    for where, wanted, found in islice(differing_fields(given, kept), 1):
        raise Conflict(
            f"the tenant has this {line.kind.name} already, with {found!r} instead of {wanted!r}", field=where
        )
