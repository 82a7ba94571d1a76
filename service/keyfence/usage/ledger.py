"""`UsageLedger`: usage in memory, by tenant, hour and operation. `UsageFlusher` writes it to the table."""

import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal

import structlog
from ulid import ULID

from keyfence.errors import KeyfenceError
from keyfence.periodic_task import PeriodicTask
from keyfence.store.dynamodb.capacity import ConsumedCapacity
from keyfence.store.table_handles import Tables
from keyfence.usage.hourly_usage import CONTROL_PLANE, OUTSIDE, RETENTION, UsageCounts, UsageHour, UsageRepository
from keyfence_iam.tenant import TenantId

HOUR_SECONDS = 3600
MAX_ENTRIES = 20_000
FLUSH_SECONDS = 10.0

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class OperationCounter:
    """Counts of one operation. Capacity units are multiples of 0.5, which floats add without rounding."""

    requests: int = 0
    refused: int = 0
    read_units: float = 0.0
    write_units: float = 0.0
    throttled_calls: int = 0

    def counts(self) -> UsageCounts:
        return UsageCounts(
            requests=self.requests,
            refused=self.refused,
            read_units=Decimal(self.read_units),
            write_units=Decimal(self.write_units),
            throttled_calls=self.throttled_calls,
        )


@dataclass(slots=True)
class HourEntry:
    """Usage of a tenant in one hour, counted by this process. Unwritten while `changes` differs from `written`."""

    tenant: TenantId
    hour: int
    part: str
    counters: dict[str, OperationCounter] = field(default_factory=dict)
    changes: int = 0
    written: int = 0

    def counter(self, operation: str) -> OperationCounter:
        """Return the counter of an operation, for the caller to change."""
        self.changes += 1
        counter = self.counters.get(operation)
        if counter is None:
            counter = self.counters[operation] = OperationCounter()
        return counter

    @property
    def is_unwritten(self) -> bool:
        return self.changes != self.written

    def usage_hour(self) -> UsageHour:
        hour, now = datetime.fromtimestamp(self.hour * HOUR_SECONDS, UTC), datetime.now(UTC)
        return UsageHour(
            tenant=self.tenant,
            hour=hour,
            part=self.part,
            operations={name: counter.counts() for name, counter in self.counters.items()},
            ttl=int((hour + RETENTION).timestamp()),
            created_at=hour,
            updated_at=now,
            version=self.changes,
        )


@dataclass(slots=True)
class UsageLedger:
    """Counts by tenant, hour and operation.

    An entry stays in memory until it is written. If more than `max_entries` of past hours cannot be written, the oldest
    are lost. `_part` is the sort key of the entries of this process. It changes when entries of the current hour leave
    memory, so that later entries of the same tenants do not overwrite them. `counts` has entries by outcome."""

    clock: Callable[[], float] = time.time
    max_entries: int = MAX_ENTRIES
    counts: dict[str, int] = field(default_factory=lambda: {"written": 0, "failed": 0, "lost": 0})
    _part: str = field(default_factory=lambda: str(ULID()))
    _hour: int = 0
    _current: dict[TenantId, HourEntry] = field(default_factory=dict)
    _past: list[HourEntry] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self._current) + len(self._past)

    def counter(self, tenant: TenantId, operation: str) -> OperationCounter:
        hour = int(self.clock() // HOUR_SECONDS)
        if hour > self._hour:
            self._begin_hour(hour)
        entry = self._current.get(tenant)
        if entry is None:
            entry = self._current[tenant] = HourEntry(tenant, self._hour, self._part)
        return entry.counter(operation)

    def add(self, tenant: TenantId, operation: str, spent: ConsumedCapacity) -> None:
        counter = self.counter(tenant, operation)
        counter.read_units += spent.read_units
        counter.write_units += spent.write_units
        counter.throttled_calls += spent.is_throttled

    def accounts(self, tenant: TenantId | None) -> tuple["NonRequestAccount"]:
        """Return the account that is charged for calls outside requests. None is the control plane."""
        return (NonRequestAccount(self, CONTROL_PLANE if tenant is None else tenant),)

    def unwritten(self) -> list[HourEntry]:
        return [entry for entry in self._entries() if entry.is_unwritten]

    def mark_written(self, written: Sequence[tuple[HourEntry, int]]) -> None:
        """Note which entries were written, each with the number of changes that it had then."""
        self.counts["written"] += len(written)
        for entry, changes in written:
            entry.written = changes
        self._past = [entry for entry in self._past if entry.is_unwritten]
        if len(self._current) > self.max_entries:
            self._current = {tenant: entry for tenant, entry in self._current.items() if entry.is_unwritten}
            self._part = str(ULID())

    def mark_failed(self, entries: int) -> None:
        self.counts["failed"] += entries

    def _begin_hour(self, hour: int) -> None:
        """Start a later hour. If the clock goes back, counts go into the hour that was reached."""
        self._past += [entry for entry in self._current.values() if entry.is_unwritten]
        self._hour, self._current = hour, {}
        if (excess := len(self._past) - self.max_entries) > 0:
            del self._past[:excess]
            self.counts["lost"] += excess
            log.error("usage_lost", entries=excess)

    def _entries(self) -> Iterator[HourEntry]:
        yield from self._past
        yield from self._current.values()


@dataclass(frozen=True, slots=True)
class NonRequestAccount:
    """Charges calls outside requests to a tenant or to the control plane."""

    ledger: UsageLedger
    tenant: TenantId

    def add(self, spent: ConsumedCapacity) -> None:
        self.ledger.add(self.tenant, OUTSIDE, spent)


class UsageFlusher:
    """Writes what the ledger counted. What cannot be written stays in the ledger until the next flush."""

    def __init__(self, ledger: UsageLedger, usages: UsageRepository, seconds: float = FLUSH_SECONDS) -> None:
        self._ledger, self._usages = ledger, usages
        self._task = PeriodicTask("usage_flusher", self._flush, seconds)

    def start(self) -> None:
        self._task.start()

    async def stop(self) -> None:
        await self._task.stop()
        await self.flush()

    async def flush(self) -> None:
        """Write now. Flushes run one after the other, so that older counts never overwrite newer ones."""
        await self._task.run_now()

    async def _flush(self) -> None:
        unwritten = [(entry, entry.changes, entry.usage_hour()) for entry in self._ledger.unwritten()]
        if not unwritten:
            return
        try:
            await self._usages.put([hour for _, _, hour in unwritten])
        except KeyfenceError as error:
            self._ledger.mark_failed(len(unwritten))
            log.warning("usage_write_failed", entries=len(unwritten), reason=error.message)
            return
        self._ledger.mark_written([(entry, changes) for entry, changes, _ in unwritten])


@asynccontextmanager
async def metered_tables(tables: Tables) -> AsyncIterator[Tables]:
    """Give a command tables whose calls are counted, and write the counts when it ends."""
    ledger = UsageLedger()
    metered = replace(tables, accounts=ledger.accounts)
    try:
        yield metered
    finally:
        await UsageFlusher(ledger, UsageRepository(metered.for_control_plane(writes=True))).flush()
