"""`UsageLedger`: counts usage in memory, by tenant, hour and operation. `UsageFlusher`: writes it to the table."""

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
from keyfence.usage.hourly_usage import (
    CONTROL_PLANE,
    OUTSIDE_REQUESTS,
    RETENTION,
    UsageCounts,
    UsageHour,
    UsageRepository,
)
from keyfence_iam.tenant import TenantId

HOUR_SECONDS = 3600
MAX_ENTRIES = 20_000
"""How many entries stay in memory if they cannot be written. An entry is the usage of one tenant in one hour."""

FLUSH_SECONDS = 10.0
"""The time between two flushes. A process that crashes loses the usage of at most this time."""

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class OperationCounter:
    """Counts one operation. Capacity units are multiples of 0.5, which floats add without rounding errors."""

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
    """The usage of a tenant in one hour, as this process counts it."""

    tenant: TenantId
    hour_number: int
    """Hours since the epoch."""
    writer_id: str
    counters: dict[str, OperationCounter] = field(default_factory=dict)
    changes: int = 0
    """How often the entry was changed."""
    written_changes: int = 0
    """The value of `changes` when the entry was last written."""

    def counter(self, operation: str) -> OperationCounter:
        """Returns the counter of an operation. The caller must change it: the call counts as a change of the entry."""
        self.changes += 1
        counter = self.counters.get(operation)
        if counter is None:
            counter = self.counters[operation] = OperationCounter()
        return counter

    @property
    def is_unwritten(self) -> bool:
        return self.changes != self.written_changes

    def usage_hour(self) -> UsageHour:
        hour, now = datetime.fromtimestamp(self.hour_number * HOUR_SECONDS, UTC), datetime.now(UTC)
        return UsageHour(
            tenant=self.tenant,
            hour=hour,
            writer_id=self.writer_id,
            operations={name: counter.counts() for name, counter in self.counters.items()},
            ttl=int((hour + RETENTION).timestamp()),
            created_at=hour,
            updated_at=now,
            version=self.changes,
        )


@dataclass(slots=True)
class UsageLedger:
    """Counts usage by tenant, hour and operation.

    An entry stays in memory until it is written. If more than `max_entries` entries of past hours cannot be written,
    the oldest are lost."""

    clock: Callable[[], float] = time.time
    max_entries: int = MAX_ENTRIES
    counts: dict[str, int] = field(default_factory=lambda: {"written": 0, "failed": 0, "lost": 0})
    """The number of entries that were written, could not be written, and were lost, since the process started."""
    _writer_id: str = field(default_factory=lambda: str(ULID()))
    """Part of the key of each entry that this process writes. It changes when written entries of the current hour leave
    memory. Otherwise a new entry of the same tenant and hour would overwrite the written one."""
    _hour_number: int = 0
    _current_hour: dict[TenantId, HourEntry] = field(default_factory=dict)
    _past_hours: list[HourEntry] = field(default_factory=list)
    """Entries that are not written yet."""

    def __len__(self) -> int:
        return len(self._current_hour) + len(self._past_hours)

    def counter(self, tenant: TenantId, operation: str) -> OperationCounter:
        """Returns the counter of an operation in the current hour, for the caller to change."""
        hour_number = int(self.clock() // HOUR_SECONDS)
        if hour_number > self._hour_number:
            self._begin_hour(hour_number)
        entry = self._current_hour.get(tenant)
        if entry is None:
            entry = self._current_hour[tenant] = HourEntry(tenant, self._hour_number, self._writer_id)
        return entry.counter(operation)

    def add(self, tenant: TenantId, operation: str, consumed: ConsumedCapacity) -> None:
        counter = self.counter(tenant, operation)
        counter.read_units += consumed.read_units
        counter.write_units += consumed.write_units
        counter.throttled_calls += consumed.is_throttled

    def accounts(self, tenant: TenantId | None) -> tuple["NonRequestAccount"]:
        """Returns the one account that calls outside requests are charged to. None stands for the control plane."""
        return (NonRequestAccount(self, CONTROL_PLANE if tenant is None else tenant),)

    def unwritten_entries(self) -> list[HourEntry]:
        return [entry for entry in self._entries() if entry.is_unwritten]

    def mark_written(self, written_entries: Sequence[tuple[HourEntry, int]]) -> None:
        """Marks entries as written. Each entry comes with the number of changes that it had when it was written."""
        self.counts["written"] += len(written_entries)
        for entry, changes in written_entries:
            entry.written_changes = changes
        self._past_hours = [entry for entry in self._past_hours if entry.is_unwritten]
        if len(self._current_hour) > self.max_entries:
            self._current_hour = {tenant: entry for tenant, entry in self._current_hour.items() if entry.is_unwritten}
            self._writer_id = str(ULID())

    def count_failed(self, entry_count: int) -> None:
        self.counts["failed"] += entry_count

    def _begin_hour(self, hour_number: int) -> None:
        """Starts a later hour. If the clock goes back, usage is still counted in the latest hour."""
        self._past_hours += [entry for entry in self._current_hour.values() if entry.is_unwritten]
        self._hour_number, self._current_hour = hour_number, {}
        if (excess := len(self._past_hours) - self.max_entries) > 0:
            del self._past_hours[:excess]
            self.counts["lost"] += excess
            log.error("usage_lost", entries=excess)

    def _entries(self) -> Iterator[HourEntry]:
        yield from self._past_hours
        yield from self._current_hour.values()


@dataclass(frozen=True, slots=True)
class NonRequestAccount:
    """Charges calls outside requests to a tenant or to the control plane."""

    ledger: UsageLedger
    tenant: TenantId

    def add(self, consumed: ConsumedCapacity) -> None:
        self.ledger.add(self.tenant, OUTSIDE_REQUESTS, consumed)

    def refund(self, read_units: float) -> None:
        self.add(ConsumedCapacity("Query", -read_units))


class UsageFlusher:
    """Writes the entries of the ledger to the table, at regular intervals. Entries that cannot be written stay in the
    ledger until the next flush."""

    def __init__(
        self, ledger: UsageLedger, repository: UsageRepository, interval_seconds: float = FLUSH_SECONDS
    ) -> None:
        self._ledger, self._repository = ledger, repository
        self._task = PeriodicTask("usage_flusher", self._flush, interval_seconds)

    def start(self) -> None:
        self._task.start()

    async def stop(self) -> None:
        await self._task.stop()
        await self.flush()

    async def flush(self) -> None:
        """Writes now. Only one flush runs at a time, so that older counts never overwrite newer counts."""
        await self._task.run_now()

    async def _flush(self) -> None:
        # An entry may change while it is written, so the number of changes is taken together with the counts.
        unwritten = [(entry, entry.changes, entry.usage_hour()) for entry in self._ledger.unwritten_entries()]
        if not unwritten:
            return
        try:
            await self._repository.put([hour for _, _, hour in unwritten])
        except KeyfenceError as error:
            self._ledger.count_failed(len(unwritten))
            log.warning("usage_write_failed", entries=len(unwritten), reason=error.message)
            return
        self._ledger.mark_written([(entry, changes) for entry, changes, _ in unwritten])


@asynccontextmanager
async def metered_tables(tables: Tables) -> AsyncIterator[Tables]:
    """Yields tables that count their calls as usage, for a command. Writes the usage when the command ends."""
    ledger = UsageLedger()
    metered = replace(tables, accounts=ledger.accounts)
    try:
        yield metered
    finally:
        await UsageFlusher(ledger, UsageRepository(metered.for_control_plane(may_write=True))).flush()
