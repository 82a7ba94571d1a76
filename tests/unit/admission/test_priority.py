"""A tenant that asks for more than its quota gives way to those who do not, for a moment and no longer."""

import asyncio
from collections.abc import Iterator

import pytest

from keyfence.admission.admission import MAX_YIELD_SECONDS, Admission, AdmittedRequest
from keyfence.admission.tenant_limits import LOW_PRIORITY_SECONDS, OverQuota, TenantLimitsCache
from keyfence.store.dynamodb.capacity import CapacityMeter
from keyfence.usage.ledger import UsageLedger
from tests.fakes.clock import ManualClock
from tests.unit.admission.tenant_quotas import tenant

PATIENTLY = 5


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def admission(clock: ManualClock) -> Iterator[Admission]:
    made = Admission(limits=TenantLimitsCache(clock=clock), ledger=UsageLedger(), total=CapacityMeter())
    yield made
    assert made.priority._running == 0, "who has gone is not waited for"
    assert not made.priority._waiting


def over_its_quota(admission: Admission, clock: ManualClock) -> AdmittedRequest:
    """One of its requests that is let in just after another was not."""
    loud = tenant("loud", requests_per_second=1_000)
    for _ in range(2_000):
        admission.admit(loud)
    with pytest.raises(OverQuota):
        admission.admit(loud)
    clock.now += LOW_PRIORITY_SECONDS / 2
    return admission.admit(loud)


async def _as_far_as_it_comes() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_it_begins_when_its_neighbour_has_ended(admission: Admission, clock: ManualClock) -> None:
    turn, seen = over_its_quota(admission, clock), list[str]()

    async def loud() -> None:
        async with turn.running("users", writes=False):
            seen.append("loud")

    async with admission.admit(tenant("quiet")).running("users", writes=False):
        behind = asyncio.ensure_future(loud())
        await _as_far_as_it_comes()
        seen.append("quiet")
    await asyncio.wait_for(behind, PATIENTLY)
    assert seen == ["quiet", "loud"]


async def test_between_its_calls_it_lets_others_pass(admission: Admission, clock: ManualClock) -> None:
    turn, seen = over_its_quota(admission, clock), list[str]()
    called, arrived = asyncio.Event(), asyncio.Event()

    async def loud() -> None:
        async with turn.running("users", writes=False):
            async with turn.slot:
                called.set()
                await arrived.wait()
            seen.append("loud")

    running = asyncio.ensure_future(loud())
    await called.wait()
    async with admission.admit(tenant("quiet")).running("users", writes=False):
        arrived.set()
        await _as_far_as_it_comes()
        seen.append("quiet")
    await asyncio.wait_for(running, PATIENTLY)
    assert seen == ["quiet", "loud"]


async def test_its_patience_is_one_for_the_whole_request(admission: Admission, clock: ManualClock) -> None:
    turn = over_its_quota(admission, clock)

    async def loud() -> None:
        async with turn.running("users", writes=False):
            for _ in range(3):
                async with turn.slot:
                    assert turn.slot.yield_seconds == 0.0

    async with admission.admit(tenant("quiet")).running("users", writes=False):
        await asyncio.wait_for(loud(), PATIENTLY)


async def test_where_nobody_else_is_it_does_not_wait(admission: Admission, clock: ManualClock) -> None:
    turn = over_its_quota(admission, clock)
    async with turn.running("users", writes=False), turn.slot:
        assert turn.slot.yield_seconds == pytest.approx(MAX_YIELD_SECONDS, abs=MAX_YIELD_SECONDS / 2)


async def test_a_while_after_it_was_refused_it_is_like_any_other(admission: Admission, clock: ManualClock) -> None:
    over_its_quota(admission, clock)
    clock.now += LOW_PRIORITY_SECONDS
    turn = admission.admit(tenant("loud", requests_per_second=1_000))
    async with admission.admit(tenant("quiet")).running("users", writes=False), turn.running("users", writes=False):
        assert turn.slot.yield_seconds == 0.0


async def test_who_stays_within_its_quota_waits_for_nobody(admission: Admission, clock: ManualClock) -> None:
    async with over_its_quota(admission, clock).running("users", writes=False):
        turn = admission.admit(tenant("quiet"))
        async with turn.running("users", writes=False), turn.slot:
            assert turn.slot.yield_seconds == 0.0


async def test_who_gives_up_waiting_is_not_waited_for(admission: Admission, clock: ManualClock) -> None:
    turn = over_its_quota(admission, clock)
    async with admission.admit(tenant("quiet")).running("users", writes=False):
        waiting = asyncio.ensure_future(turn.running("users", writes=False).__aenter__())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    assert admission.limits.of(turn.tenant).running.is_idle


async def test_it_does_not_give_way_where_it_would_fall_behind_its_quota(
    admission: Admission, clock: ManualClock
) -> None:
    """More of it wait than its bucket ever let in at once: so they are served more slowly than they may come."""
    turn = over_its_quota(admission, clock)
    assert turn.limits.has_low_priority(clock.now)
    loud = turn.limits
    loud.running.resize(0)
    waiting = [asyncio.ensure_future(loud.running.__aenter__()) for _ in range(int(loud.requests.burst) + 1)]
    await asyncio.sleep(0)
    assert not loud.has_low_priority(clock.now)
    for one in waiting:
        one.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    loud.running.resize(1)
