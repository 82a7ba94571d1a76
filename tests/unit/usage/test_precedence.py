"""A tenant that asks for more than its quota gives way to those who do not, for a moment and no longer."""

import asyncio
from collections.abc import Iterator

import pytest

from keyfence.admission.admission import GIVES_WAY_SECONDS, Admission, AdmittedRequest
from keyfence.admission.tenant_limits import OVER_SECONDS, OverQuota, TenantLimitsCache
from keyfence.store.dynamodb.capacity import CapacityMeter
from keyfence.usage.ledger import UsageLedger

from .tenants import Clock, tenant

PATIENTLY = 5


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def turns(clock: Clock) -> Iterator[Admission]:
    made = Admission(allowances=TenantLimitsCache(clock=clock), ledger=UsageLedger(), total=CapacityMeter())
    yield made
    assert made.precedence._ahead == 0, "who has gone is not waited for"
    assert not made.precedence._behind


def over_its_quota(turns: Admission, clock: Clock) -> AdmittedRequest:
    """One of its requests that is let in just after another was not."""
    loud = tenant("loud", requests_per_second=1_000)
    for _ in range(2_000):
        turns.begin(loud)
    with pytest.raises(OverQuota):
        turns.begin(loud)
    clock.now += OVER_SECONDS / 2
    return turns.begin(loud)


async def _as_far_as_it_comes() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_it_begins_when_its_neighbour_has_ended(turns: Admission, clock: Clock) -> None:
    turn, seen = over_its_quota(turns, clock), list[str]()

    async def loud() -> None:
        async with turn.taken("users", writes=False):
            seen.append("loud")

    async with turns.begin(tenant("quiet")).taken("users", writes=False):
        behind = asyncio.ensure_future(loud())
        await _as_far_as_it_comes()
        seen.append("quiet")
    await asyncio.wait_for(behind, PATIENTLY)
    assert seen == ["quiet", "loud"]


async def test_between_its_calls_it_lets_others_pass(turns: Admission, clock: Clock) -> None:
    turn, seen = over_its_quota(turns, clock), list[str]()
    called, arrived = asyncio.Event(), asyncio.Event()

    async def loud() -> None:
        async with turn.taken("users", writes=False):
            async with turn.way:
                called.set()
                await arrived.wait()
            seen.append("loud")

    running = asyncio.ensure_future(loud())
    await called.wait()
    async with turns.begin(tenant("quiet")).taken("users", writes=False):
        arrived.set()
        await _as_far_as_it_comes()
        seen.append("quiet")
    await asyncio.wait_for(running, PATIENTLY)
    assert seen == ["quiet", "loud"]


async def test_its_patience_is_one_for_the_whole_request(turns: Admission, clock: Clock) -> None:
    turn = over_its_quota(turns, clock)

    async def loud() -> None:
        async with turn.taken("users", writes=False):
            for _ in range(3):
                async with turn.way:
                    assert turn.way.patience == 0.0

    async with turns.begin(tenant("quiet")).taken("users", writes=False):
        await asyncio.wait_for(loud(), PATIENTLY)


async def test_where_nobody_else_is_it_does_not_wait(turns: Admission, clock: Clock) -> None:
    turn = over_its_quota(turns, clock)
    async with turn.taken("users", writes=False), turn.way:
        assert turn.way.patience == pytest.approx(GIVES_WAY_SECONDS, abs=GIVES_WAY_SECONDS / 2)


async def test_a_while_after_it_was_refused_it_is_like_any_other(turns: Admission, clock: Clock) -> None:
    over_its_quota(turns, clock)
    clock.now += OVER_SECONDS
    turn = turns.begin(tenant("loud", requests_per_second=1_000))
    async with turns.begin(tenant("quiet")).taken("users", writes=False), turn.taken("users", writes=False):
        assert turn.way.patience == 0.0


async def test_who_stays_within_its_quota_waits_for_nobody(turns: Admission, clock: Clock) -> None:
    async with over_its_quota(turns, clock).taken("users", writes=False):
        turn = turns.begin(tenant("quiet"))
        async with turn.taken("users", writes=False), turn.way:
            assert turn.way.patience == 0.0


async def test_who_gives_up_waiting_is_not_waited_for(turns: Admission, clock: Clock) -> None:
    turn = over_its_quota(turns, clock)
    async with turns.begin(tenant("quiet")).taken("users", writes=False):
        waiting = asyncio.ensure_future(turn.taken("users", writes=False).__aenter__())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    assert turns.allowances.of(turn.tenant).running.empty


async def test_it_does_not_give_way_where_it_would_fall_behind_its_quota(turns: Admission, clock: Clock) -> None:
    """More of it wait than its bucket ever let in at once: so they are served more slowly than they may come."""
    turn = over_its_quota(turns, clock)
    assert turn.allowance.has_low_priority(clock.now)
    loud = turn.allowance
    loud.running.fit(0)
    waiting = [asyncio.ensure_future(loud.running.__aenter__()) for _ in range(int(loud.requests.burst) + 1)]
    await asyncio.sleep(0)
    assert not loud.has_low_priority(clock.now)
    for one in waiting:
        one.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    loud.running.fit(1)
