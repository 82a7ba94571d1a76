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
class FakeUsageRepository:
    """Stores hours by their key, as a table does."""

    stored: dict[tuple[str, str, str], UsageHour] = field(default_factory=dict)
    puts: int = 0
    outcomes: list[Exception | None] = field(default_factory=list)
    """The errors of the next puts. None: the put succeeds."""
    lost_answers: bool = False
    """Whether a put that raises an error has stored the hours nevertheless."""
    was_written: asyncio.Event = field(default_factory=asyncio.Event)

    async def put(self, hours: Sequence[UsageHour]) -> None:
        await asyncio.sleep(0)
        failure = self.outcomes.pop(0) if self.outcomes else None
        if failure is None or self.lost_answers:
            self.puts += len(hours)
            self.stored |= {(hour.tenant, hour.hour.isoformat(), hour.writer_id): hour for hour in hours}
            self.was_written.set()
        if failure:
            raise failure

    def total(self, tenant: TenantId | None = None) -> UsageCounts:
        hours = (hour for hour in self.stored.values() if tenant in (None, hour.tenant))
        return sum((counts for hour in hours for counts in hour.operations.values()), UsageCounts())


@dataclass
class LedgerFixture:
    clock: ManualClock = field(default_factory=lambda: ManualClock(HOUR))
    repository: FakeUsageRepository = field(default_factory=FakeUsageRepository)
    ledger: UsageLedger = field(init=False)

    def __post_init__(self) -> None:
        self.ledger = UsageLedger(clock=self.clock)

    def new_flusher(self, **options: Any) -> UsageFlusher:
        return UsageFlusher(self.ledger, cast("UsageRepository", self.repository), **options)

    def serve_requests(self, tenant: TenantId = ACME, operation: str = "users", times: int = 1) -> None:
        for _ in range(times):
            self.ledger.counter(tenant, operation).requests += 1
            self.ledger.add(tenant, operation, ConsumedCapacity("Query", 0.5, 2.0))


async def test_counts_are_stored_by_tenant_hour_and_operation() -> None:
    fixture = LedgerFixture()
    fixture.serve_requests(times=3)
    fixture.serve_requests(operation="createUser")
    fixture.serve_requests(ACMECORP)
    fixture.ledger.counter(ACME, "unknown").refused += 2
    (account,) = fixture.ledger.accounts(None)
    account.add(ConsumedCapacity("GetItem", 1.0, 0.0, is_throttled=True))
    (account,) = fixture.ledger.accounts(ACMECORP)
    account.add(ConsumedCapacity("GetItem", 8.0))
    account.refund(1.5)
    await fixture.new_flusher().flush()
    stored: Mapping[str, Mapping[str, UsageCounts]] = {
        hour.tenant: hour.operations for hour in fixture.repository.stored.values()
    }
    half = Decimal("0.5")
    assert stored == {
        ACME: {
            "users": UsageCounts(requests=3, read_units=3 * half, write_units=Decimal(6)),
            "createUser": UsageCounts(requests=1, read_units=half, write_units=Decimal(2)),
            "unknown": UsageCounts(refused=2),
        },
        ACMECORP: {
            "users": UsageCounts(requests=1, read_units=half, write_units=Decimal(2)),
            "outside": UsageCounts(read_units=Decimal("6.5")),
        },
        CONTROL_PLANE: {"outside": UsageCounts(read_units=Decimal(1), throttled_calls=1)},
    }


async def test_a_repeated_flush_writes_only_what_changed() -> None:
    fixture = LedgerFixture()
    fixture.serve_requests(times=5)
    fixture.serve_requests(ACMECORP)
    flusher = fixture.new_flusher()
    await flusher.flush()
    await flusher.flush()
    assert fixture.repository.puts == 2
    fixture.serve_requests(times=2)
    await flusher.flush()
    assert fixture.repository.puts == 3
    assert fixture.repository.total(ACME).requests == 7
    assert len(fixture.repository.stored) == 2


@pytest.mark.parametrize("lost", [False, True], ids=["not written", "written, answer lost"])
async def test_a_failed_write_is_repeated_by_the_next_flush_and_counts_once(lost: bool) -> None:
    fixture = LedgerFixture()
    fixture.repository.lost_answers = lost
    fixture.repository.outcomes = [Throttled("later"), Throttled("later"), None]
    flusher = fixture.new_flusher()
    for _ in range(3):
        fixture.serve_requests()
        await flusher.flush()
    assert fixture.repository.total().requests == 3
    assert fixture.ledger.counts["failed"] == 2
    assert fixture.ledger.unwritten_entries() == []


async def test_counts_during_a_write_are_written_by_the_next_flush() -> None:
    fixture = LedgerFixture()
    fixture.serve_requests()
    flusher = fixture.new_flusher()
    flush = asyncio.ensure_future(flusher.flush())
    await asyncio.sleep(0)
    fixture.serve_requests()
    await flush
    assert fixture.repository.total().requests == 1
    await flusher.flush()
    assert fixture.repository.total().requests == 2


async def test_a_past_hour_leaves_memory_when_it_is_written() -> None:
    fixture = LedgerFixture()
    fixture.serve_requests(times=4)
    fixture.clock.now += HOUR_SECONDS
    fixture.serve_requests(times=1)
    assert len(fixture.ledger) == 2
    await fixture.new_flusher().flush()
    assert sorted(hour.operations["users"].requests for hour in fixture.repository.stored.values()) == [1, 4]
    assert len(fixture.ledger) == 1
    fixture.clock.now += HOUR_SECONDS
    fixture.serve_requests(ACMECORP)
    assert len(fixture.ledger) == 1, "a written entry of a past hour is still in memory"


async def test_a_clock_that_goes_back_overwrites_no_hour() -> None:
    fixture = LedgerFixture()
    fixture.serve_requests(times=4)
    fixture.clock.now += HOUR_SECONDS
    fixture.serve_requests()
    await fixture.new_flusher().flush()
    fixture.clock.now -= HOUR_SECONDS
    fixture.serve_requests()
    await fixture.new_flusher().flush()
    assert fixture.repository.total().requests == 6


async def test_the_usage_of_two_processes_and_of_a_restarted_process_adds_up() -> None:
    first = LedgerFixture()
    second = LedgerFixture(clock=first.clock, repository=first.repository)
    first.serve_requests(times=3)
    second.serve_requests(times=4)
    await first.new_flusher().flush()
    await second.new_flusher().flush()
    first.serve_requests(times=100)
    restarted = LedgerFixture(clock=first.clock, repository=first.repository)
    restarted.serve_requests(times=5)
    await restarted.new_flusher().flush()
    assert first.repository.total().requests == 12, "only the usage that was not written before the crash is lost"


async def test_entries_of_too_many_tenants_leave_memory_when_they_are_written_and_no_usage_is_lost() -> None:
    fixture = LedgerFixture()
    fixture.ledger.max_entries = 10
    flusher = fixture.new_flusher()
    for _ in range(5):
        for number in range(25):
            fixture.serve_requests(TenantId(f"t-{number}"))
        flush = asyncio.ensure_future(flusher.flush())
        await asyncio.sleep(0)
        fixture.serve_requests(TenantId("t-3"))
        await flush
        assert len(fixture.ledger) <= 10
    await flusher.flush()
    assert fixture.repository.total().requests == 130
    assert fixture.repository.total(TenantId("t-3")).requests == 10


async def test_entries_that_cannot_be_written_for_hours_are_bounded_and_lost_entries_are_counted() -> None:
    fixture = LedgerFixture()
    fixture.ledger.max_entries = 10
    for _ in range(5):
        for number in range(4):
            fixture.serve_requests(TenantId(f"t-{number}"))
        fixture.clock.now += HOUR_SECONDS
    fixture.serve_requests()
    assert len(fixture.ledger) == 11
    assert fixture.ledger.counts["lost"] == 10


async def test_usage_is_written_periodically_and_once_more_at_the_end() -> None:
    fixture = LedgerFixture()
    flusher = fixture.new_flusher(interval_seconds=0.001)
    flusher.start()
    fixture.serve_requests()
    await fixture.repository.was_written.wait()
    slow_flusher = fixture.new_flusher(interval_seconds=3600)
    slow_flusher.start()
    fixture.serve_requests()
    await slow_flusher.stop()
    assert fixture.repository.total().requests == 2
    await flusher.stop()
    await asyncio.sleep(0)
    assert not flusher._task.is_running
