"""Usage in memory by tenant, hour and operation; the flusher that writes it."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal

import structlog
from ulid import ULID

from keyfence.errors import KeyfenceError
from keyfence.store.dynamodb.capacity import ConsumedCapacity
from keyfence.store.tables import Tables
from keyfence.usage.hourly_usage import CONTROL_PLANE, OUTSIDE, RETENTION, UsageCounts, UsageHour, UsageRepository
from keyfence_iam.tenant import TenantId

SECONDS = 3600
LARGEST = 20_000

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class OperationCounter:
    """The counts of one operation while they grow. Units come in halves, which floats add exactly."""

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
    """What this part of this process has counted for a tenant in an hour."""

    tenant: TenantId
    hour: int
    part: str
    lines: dict[str, OperationCounter] = field(default_factory=dict)
    changes: int = 0
    written: int = 0

    def counter(self, operation: str) -> OperationCounter:
        self.changes += 1
        found = self.lines.get(operation)
        if found is None:
            found = self.lines[operation] = OperationCounter()
        return found

    @property
    def due(self) -> bool:
        return self.changes != self.written

    def kept(self) -> UsageHour:
        hour, now = datetime.fromtimestamp(self.hour * SECONDS, UTC), datetime.now(UTC)
        return UsageHour(
            tenant=self.tenant,
            hour=hour,
            part=self.part,
            operations={name: line.counts() for name, line in self.lines.items()},
            ttl=int((hour + RETENTION).timestamp()),
            created_at=hour,
            updated_at=now,
            version=self.changes,
        )


@dataclass(slots=True)
class UsageLedger:
    """Counts by tenant, hour and operation; nothing leaves it before it was written, unless there is too much of it.

    A part is named anew whenever leaves have left while their hour went on, so that no later leaf overwrites them."""

    clock: Callable[[], float] = time.time
    largest: int = LARGEST
    counts: dict[str, int] = field(default_factory=lambda: {"written": 0, "failed": 0, "lost": 0})
    """Leaves, by what became of them."""
    _part: str = field(default_factory=lambda: str(ULID()))
    _hour: int = 0
    _open: dict[TenantId, HourEntry] = field(default_factory=dict)
    _closed: list[HourEntry] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self._open) + len(self._closed)

    def counter(self, tenant: TenantId, operation: str) -> OperationCounter:
        hour = int(self.clock() // SECONDS)
        if hour > self._hour:
            self._turn_to(hour)
        leaf = self._open.get(tenant)
        if leaf is None:
            leaf = self._open[tenant] = HourEntry(tenant, self._hour, self._part)
        return leaf.counter(operation)

    def add(self, tenant: TenantId, operation: str, spent: ConsumedCapacity) -> None:
        counter = self.counter(tenant, operation)
        counter.read_units += spent.read_units
        counter.write_units += spent.write_units
        counter.throttled_calls += spent.throttled

    def accounts(self, tenant: TenantId | None) -> tuple["NonRequestAccount"]:
        """For calls that no request of a tenant makes."""
        return (NonRequestAccount(self, CONTROL_PLANE if tenant is None else tenant),)

    def due(self) -> list[HourEntry]:
        return [leaf for leaf in self._leaves() if leaf.due]

    def settle(self, written: Sequence[tuple[HourEntry, int]]) -> None:
        """After these have been written, each as it was after so many changes."""
        self.counts["written"] += len(written)
        for leaf, changes in written:
            leaf.written = changes
        self._closed = [leaf for leaf in self._closed if leaf.due]
        if len(self._open) > self.largest:
            self._open = {tenant: leaf for tenant, leaf in self._open.items() if leaf.due}
            self._part = str(ULID())

    def fail(self, leaves: int) -> None:
        """They could not be written now."""
        self.counts["failed"] += leaves

    def _turn_to(self, hour: int) -> None:
        """Only ever forwards: a clock that is put back counts into the hour that was reached."""
        self._closed += [leaf for leaf in self._open.values() if leaf.due]
        self._hour, self._open = hour, {}
        if excess := len(self._closed) - self.largest:
            self._forget(max(0, excess))

    def _forget(self, excess: int) -> None:
        if excess:
            del self._closed[:excess]
            self.counts["lost"] += excess
            log.error("usage_lost", leaves=excess)

    def _leaves(self) -> Iterator[HourEntry]:
        yield from self._closed
        yield from self._open.values()


@dataclass(frozen=True, slots=True)
class NonRequestAccount:
    """The account of a tenant, or of the control plane, outside requests."""

    ledger: UsageLedger
    tenant: TenantId

    def add(self, spent: ConsumedCapacity) -> None:
        self.ledger.add(self.tenant, OUTSIDE, spent)


@dataclass(slots=True)
class UsageFlusher:
    """What could not be written stays in the ledger and is written with the next."""

    ledger: UsageLedger
    usages: UsageRepository
    seconds: float = 10.0
    _running: "asyncio.Task[None] | None" = None
    _one: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def flush(self) -> None:
        """One at a time, so that no older numbers overtake newer ones."""
        async with self._one:
            due = [(leaf, leaf.changes, leaf.kept()) for leaf in self.ledger.due()]
            if not due:
                return
            try:
                await self.usages.put([kept for _, _, kept in due])
            except KeyfenceError as error:
                self.ledger.fail(len(due))
                log.warning("usage_not_written", leaves=len(due), error=error.message)
                return
            self.ledger.settle([(leaf, changes) for leaf, changes, _ in due])

    def start(self) -> None:
        self._running = asyncio.ensure_future(self._run())

    async def stop(self) -> None:
        """A write that is under way is waited for: left alone, it might arrive after the last one."""
        async with self._one:
            if self._running:
                self._running.cancel()
        await self.flush()

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self.seconds)
            try:
                await self.flush()
            except Exception:
                log.exception("usage_flush_broke")


@asynccontextmanager
async def metered_tables(tables: Tables) -> AsyncIterator[Tables]:
    """These tables for a command, whose calls are written down when it ends."""
    ledger = UsageLedger()
    metered = replace(tables, accounts=ledger.accounts)
    try:
        yield metered
    finally:
        await UsageFlusher(ledger, UsageRepository(metered.for_control_plane(writes=True))).flush()
