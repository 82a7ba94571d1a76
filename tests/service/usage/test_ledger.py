"""Usage is written exactly once, whatever fails meanwhile, and memory is bounded."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, cast

import pytest

from keyfence.errors import Throttled
from keyfence.store.dynamodb.capacity import ConsumedCapacity
from keyfence.usage.hourly_usage import CONTROL_PLANE, UsageCounts, UsageHour, UsageRepository
from keyfence.usage.ledger import HOUR_SECONDS, UsageFlusher, UsageLedger
from keyfence_iam.tenant import TenantId
from tests.fakes.clock import ManualClock

ACME, ACMECORP = TenantId("acme"), TenantId("acmecorp")
HOUR = 500_000 * HOUR_SECONDS


@dataclass
class Shelf:
    """Keeps hours as a table would: the last one put under a key is there."""

    kept: dict[tuple[str, str, str], UsageHour] = field(default_factory=dict)
    puts: int = 0
    outcomes: list[Exception | None] = field(default_factory=list)
    """What becomes of the next puts; an error may come before the put or, as a lost answer does, after it."""
    lost_answers: bool = False
    used: asyncio.Event = field(default_factory=asyncio.Event)

    async def put(self, hours: Sequence[UsageHour]) -> None:
        await asyncio.sleep(0)
        failure = self.outcomes.pop(0) if self.outcomes else None
        if failure is None or self.lost_answers:
            self.puts += len(hours)
            self.kept |= {(one.tenant, one.hour.isoformat(), one.writer_id): one for one in hours}
            self.used.set()
        if failure:
            raise failure

    def total(self, tenant: TenantId | None = None) -> UsageCounts:
        found = (one for one in self.kept.values() if tenant in (None, one.tenant))
        return sum((counts for one in found for counts in one.operations.values()), UsageCounts())


@dataclass
class Scene:
    clock: ManualClock = field(default_factory=lambda: ManualClock(HOUR))
    shelf: Shelf = field(default_factory=Shelf)
    ledger: UsageLedger = field(init=False)

    def __post_init__(self) -> None:
        self.ledger = UsageLedger(clock=self.clock)

    def flushing(self, **given: Any) -> UsageFlusher:
        return UsageFlusher(self.ledger, cast("UsageRepository", self.shelf), **given)

    def work(self, tenant: TenantId = ACME, operation: str = "users", times: int = 1) -> None:
        for _ in range(times):
            self.ledger.counter(tenant, operation).requests += 1
            self.ledger.add(tenant, operation, ConsumedCapacity("Query", 0.5, 2.0))


async def test_counts_are_stored_by_tenant_hour_and_operation() -> None:
    scene = Scene()
    scene.work(times=3)
    scene.work(operation="createUser")
    scene.work(ACMECORP)
    scene.ledger.counter(ACME, "unknown").refused += 2
    (account,) = scene.ledger.accounts(None)
    account.add(ConsumedCapacity("GetItem", 1.0, 0.0, is_throttled=True))
    (account,) = scene.ledger.accounts(ACMECORP)
    account.add(ConsumedCapacity("GetItem", 8.0))
    await scene.flushing().flush()
    kept: Mapping[str, Mapping[str, UsageCounts]] = {one.tenant: one.operations for one in scene.shelf.kept.values()}
    half = Decimal("0.5")
    assert kept == {
        ACME: {
            "users": UsageCounts(requests=3, read_units=3 * half, write_units=Decimal(6)),
            "createUser": UsageCounts(requests=1, read_units=half, write_units=Decimal(2)),
            "unknown": UsageCounts(refused=2),
        },
        ACMECORP: {
            "users": UsageCounts(requests=1, read_units=half, write_units=Decimal(2)),
            "outside": UsageCounts(read_units=Decimal(8)),
        },
        CONTROL_PLANE: {"outside": UsageCounts(read_units=Decimal(1), throttled_calls=1)},
    }


async def test_a_repeated_flush_writes_only_what_changed() -> None:
    scene = Scene()
    scene.work(times=5)
    scene.work(ACMECORP)
    flushing = scene.flushing()
    await flushing.flush()
    await flushing.flush()
    assert scene.shelf.puts == 2
    scene.work(times=2)
    await flushing.flush()
    assert scene.shelf.puts == 3
    assert scene.shelf.total(ACME).requests == 7
    assert len(scene.shelf.kept) == 2


@pytest.mark.parametrize("lost", [False, True], ids=["not written", "written, answer lost"])
async def test_a_failed_write_is_repeated_by_the_next_flush_and_counts_once(lost: bool) -> None:
    scene = Scene()
    scene.shelf.lost_answers = lost
    scene.shelf.outcomes = [Throttled("later"), Throttled("later"), None]
    flushing = scene.flushing()
    for _ in range(3):
        scene.work()
        await flushing.flush()
    assert scene.shelf.total().requests == 3
    assert scene.ledger.counts["failed"] == 2
    assert scene.ledger.unwritten() == []


async def test_counts_during_a_write_are_written_by_the_next_flush() -> None:
    scene = Scene()
    scene.work()
    flushing = scene.flushing()
    flush = asyncio.ensure_future(flushing.flush())
    await asyncio.sleep(0)
    scene.work()
    await flush
    assert scene.shelf.total().requests == 1
    await flushing.flush()
    assert scene.shelf.total().requests == 2


async def test_a_past_hour_leaves_memory_when_it_is_written() -> None:
    scene = Scene()
    scene.work(times=4)
    scene.clock.now += HOUR_SECONDS
    scene.work(times=1)
    assert len(scene.ledger) == 2
    await scene.flushing().flush()
    assert sorted(one.operations["users"].requests for one in scene.shelf.kept.values()) == [1, 4]
    assert len(scene.ledger) == 1
    scene.clock.now += HOUR_SECONDS
    scene.work(ACMECORP)
    assert len(scene.ledger) == 1, "what was written is not kept any longer"


async def test_a_clock_that_goes_back_overwrites_no_hour() -> None:
    scene = Scene()
    scene.work(times=4)
    scene.clock.now += HOUR_SECONDS
    scene.work()
    await scene.flushing().flush()
    scene.clock.now -= HOUR_SECONDS
    scene.work()
    await scene.flushing().flush()
    assert scene.shelf.total().requests == 6


async def test_two_processes_and_one_that_restarts_add_up() -> None:
    first = Scene()
    second = Scene(clock=first.clock, shelf=first.shelf)
    first.work(times=3)
    second.work(times=4)
    await first.flushing().flush()
    await second.flushing().flush()
    first.work(times=100)
    again = Scene(clock=first.clock, shelf=first.shelf)
    again.work(times=5)
    await again.flushing().flush()
    assert first.shelf.total().requests == 12, "the crash lost what was not written, and nothing else"


async def test_more_tenants_than_fit_leave_memory_when_written_and_nothing_is_lost() -> None:
    scene = Scene()
    scene.ledger.max_entries = 10
    flushing = scene.flushing()
    for _ in range(5):
        for number in range(25):
            scene.work(TenantId(f"t-{number}"))
        flush = asyncio.ensure_future(flushing.flush())
        await asyncio.sleep(0)
        scene.work(TenantId("t-3"))
        await flush
        assert len(scene.ledger) <= 10
    await flushing.flush()
    assert scene.shelf.total().requests == 130
    assert scene.shelf.total(TenantId("t-3")).requests == 10


async def test_usage_that_cannot_be_written_for_hours_is_bounded_and_its_loss_counted() -> None:
    scene = Scene()
    scene.ledger.max_entries = 10
    for _ in range(5):
        for number in range(4):
            scene.work(TenantId(f"t-{number}"))
        scene.clock.now += HOUR_SECONDS
    scene.work()
    assert len(scene.ledger) == 11
    assert scene.ledger.counts["lost"] == 10


async def test_usage_is_written_periodically_and_once_more_at_the_end() -> None:
    scene = Scene()
    flushing = scene.flushing(interval_seconds=0.001)
    flushing.start()
    scene.work()
    await scene.shelf.used.wait()
    slow = scene.flushing(interval_seconds=3600)
    slow.start()
    scene.work()
    await slow.stop()
    assert scene.shelf.total().requests == 2
    await flushing.stop()
    await asyncio.sleep(0)
    assert not flushing._task.is_running
