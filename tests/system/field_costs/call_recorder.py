"""Records the access pattern of each DynamoDB call, and the units that it consumed."""

from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from keyfence.access_patterns.report import Cost, Measured
from keyfence.app.domain_loading import load_domains
from keyfence.store.dynamodb.capacity import CapacityMeter
from keyfence.store.dynamodb.client import Answer, DynamoDb
from keyfence.store.table import Table
from keyfence_iam.credentials import Credentials

NAMES = {id(named.pattern): named.name for named in load_domains().patterns}
WRITES = {"TransactWriteItems", "BatchWriteItem"}

_current: ContextVar[str | None] = ContextVar("pattern", default=None)


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A call with its access pattern and its units."""

    operation: str
    pattern: str | None
    units: float


@dataclass(slots=True)
class CallRecorder:
    """A client that records the access pattern and the units of each call."""

    client: DynamoDb
    seen: list[RecordedCall] = field(default_factory=list)

    async def call(self, operation: str, parameters: Mapping[str, Any], credentials: Credentials) -> Answer:
        answer = await self.client.call(operation, parameters, credentials)
        meter = CapacityMeter()
        meter.record(operation, answer)
        self.seen.append(RecordedCall(operation, _current.get(), meter.units[operation]))
        return answer

    def close(self) -> None:
        self.client.close()

    def taken(self) -> list[RecordedCall]:
        """Returns the calls since the last call of this method."""
        seen, self.seen = self.seen, []
        return seen


def measured(name: str, seen: list[RecordedCall]) -> Measured:
    calls: Counter[str] = Counter()
    units: defaultdict[str, float] = defaultdict(float)
    for one in seen:
        if one.operation not in WRITES:
            assert one.pattern, f"{name} makes a {one.operation} that no pattern of the catalogue explains"
            calls[one.pattern] += 1
            units[one.pattern] += one.units
    written = [one.units for one in seen if one.operation in WRITES]
    reads = {pattern: Cost(calls[pattern], units[pattern]) for pattern in sorted(calls)}
    return Measured(field=name, reads=reads, writes=Cost(len(written), sum(written)))


@contextmanager
def watched() -> Iterator[None]:
    """Makes every method of a table handle set its access pattern while it runs. The outermost method counts."""
    ways: dict[str, Any] = {
        name: _remembering(getattr(Table, name))
        for name in ("find", "find_many", "find_in_all_shards", "read", "item_collection")
    }
    with patch.multiple(Table, **ways, iterate_shards=_remembering_each(Table.iterate_shards)):
        yield


def _remembering(way: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    async def remembering(table: Table, asked: Any, *args: Any, **values: Any) -> Any:
        with _named(getattr(asked, "pattern", asked)):
            return await way(table, asked, *args, **values)

    return remembering


def _remembering_each(way: Callable[..., AsyncIterator[Any]]) -> Callable[..., AsyncIterator[Any]]:
    async def remembering(table: Table, pattern: Any, **values: Any) -> AsyncIterator[Any]:
        items = way(table, pattern, **values)
        while True:
            try:
                with _named(pattern):
                    item = await anext(items)
            except StopAsyncIteration:
                return
            yield item

    return remembering


@contextmanager
def _named(pattern: object) -> Iterator[None]:
    token = _current.set(_current.get() or NAMES[id(pattern)])
    try:
        yield
    finally:
        _current.reset(token)
