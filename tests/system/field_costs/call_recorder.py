"""Records the access pattern of each DynamoDB call, and the units that it consumed."""

from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from keyfence.access_patterns.report import Cost, FieldCost
from keyfence.app.domain_loading import load_domains
from keyfence.store.dynamodb.capacity import CapacityMeter
from keyfence.store.dynamodb.client import Answer, DynamoDb
from keyfence.store.table import Table
from keyfence_iam.credentials import Credentials

PATTERN_NAMES = {id(named.pattern): named.name for named in load_domains().patterns}
"""The name of each access pattern, by the id of the Python object."""
WRITE_OPERATIONS = {"TransactWriteItems", "BatchWriteItem"}

_current_pattern: ContextVar[str | None] = ContextVar("pattern", default=None)


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A DynamoDB call, its access pattern, and the capacity units that it consumed."""

    operation: str
    pattern: str | None
    units: float


@dataclass(slots=True)
class CallRecorder:
    """A DynamoDB client that records the access pattern and the units of each call."""

    client: DynamoDb
    calls: list[RecordedCall] = field(default_factory=list)

    async def call(self, operation: str, parameters: Mapping[str, Any], credentials: Credentials) -> Answer:
        answer = await self.client.call(operation, parameters, credentials)
        meter = CapacityMeter()
        meter.record(operation, answer)
        self.calls.append(RecordedCall(operation, _current_pattern.get(), meter.units[operation]))
        return answer

    def close(self) -> None:
        self.client.close()

    def take_calls(self) -> list[RecordedCall]:
        """Returns the calls since this method was last called."""
        calls, self.calls = self.calls, []
        return calls


def field_cost(field_name: str, calls: list[RecordedCall]) -> FieldCost:
    """Adds up the calls of one request."""
    call_counts: Counter[str] = Counter()
    units: defaultdict[str, float] = defaultdict(float)
    for call in calls:
        if call.operation not in WRITE_OPERATIONS:
            assert call.pattern, f"{field_name} makes a {call.operation} that is no declared access pattern"
            call_counts[call.pattern] += 1
            units[call.pattern] += call.units
    write_units = [call.units for call in calls if call.operation in WRITE_OPERATIONS]
    reads = {pattern: Cost(call_counts[pattern], units[pattern]) for pattern in sorted(call_counts)}
    return FieldCost(field=field_name, reads=reads, writes=Cost(len(write_units), sum(write_units)))


@contextmanager
def track_patterns() -> Iterator[None]:
    """Makes the read methods of a table handle set the current access pattern while they run.

    If one method calls another, the pattern of the outer one is used."""
    tracked: dict[str, Any] = {
        name: _track(getattr(Table, name))
        for name in ("find", "find_many", "find_in_all_shards", "read", "item_collection")
    }
    with patch.multiple(Table, **tracked, iterate_shards=_track_iterator(Table.iterate_shards)):
        yield


def _track(method: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    async def tracked(table: Table, pattern_or_query: Any, *args: Any, **values: Any) -> Any:
        with _use_pattern(getattr(pattern_or_query, "pattern", pattern_or_query)):
            return await method(table, pattern_or_query, *args, **values)

    return tracked


def _track_iterator(method: Callable[..., AsyncIterator[Any]]) -> Callable[..., AsyncIterator[Any]]:
    async def tracked(table: Table, pattern: Any, **values: Any) -> AsyncIterator[Any]:
        items = method(table, pattern, **values)
        while True:
            try:
                with _use_pattern(pattern):
                    item = await anext(items)
            except StopAsyncIteration:
                return
            yield item

    return tracked


@contextmanager
def _use_pattern(pattern: object) -> Iterator[None]:
    token = _current_pattern.set(_current_pattern.get() or PATTERN_NAMES[id(pattern)])
    try:
        yield
    finally:
        _current_pattern.reset(token)
