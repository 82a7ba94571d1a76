"""Sessions in use are refreshed early and at different times, and no caller waits for it."""

from itertools import pairwise

import pytest

from keyfence_iam.sts.session_refresh import RefreshSchedule
from tests.fakes.sts import SessionCacheFixture, reads, session_cache


async def test_the_cached_session_is_given_out_while_it_is_refreshed(cache: SessionCacheFixture) -> None:
    first = await cache.use(reads("acme"))
    cache.clock.now += 541
    cache.sts.may_answer.clear()
    assert [await cache.use(reads("acme")) for _ in range(10)] == [first] * 10
    cache.sts.may_answer.set()
    cache.wait_for_sts()
    assert await cache.use(reads("acme")) != first
    assert len(cache.sts.requests) == 2
    assert cache.sessions.counts == {"issued": 1, "renewed": 1, "failed": 0, "throttled": 0}


@pytest.mark.parametrize(("random_number", "due_seconds"), [(0.0, 450), (0.5, 495), (1.0, 540)])
async def test_a_refresh_is_at_a_random_time_between_50_and_60_percent_of_the_lifetime(
    random_number: float, due_seconds: int
) -> None:
    cache = session_cache(random_number=lambda: random_number)
    await cache.use(reads("acme"))
    cache.clock.now += due_seconds - 1
    cache.sessions.refresh_due_sessions()
    cache.wait_for_sts()
    assert len(cache.sts.requests) == 1
    cache.clock.now += 1
    cache.sessions.refresh_due_sessions()
    cache.wait_for_sts()
    assert len(cache.sts.requests) == 2


async def test_sessions_that_were_issued_together_are_refreshed_at_different_times() -> None:
    numbers = iter([n / 20 for n in range(20)])
    cache = session_cache(random_number=lambda: next(numbers, 0.5))
    for number in range(20):
        await cache.use(reads(f"t{number:02}"))
    cache.advance(452)
    assert 20 < len(cache.sts.requests) < 25
    cache.advance(90)
    assert len(cache.sts.requests) == 40


async def test_a_session_in_use_is_always_valid_for_more_than_five_minutes(cache: SessionCacheFixture) -> None:
    for _ in range(1000):
        await cache.use(reads("acme"))
        cache.advance(5)
        (session,) = cache.sessions._sessions.values()
        assert session.valid_until - cache.clock.now > 300


async def test_an_unused_session_is_not_refreshed(cache: SessionCacheFixture) -> None:
    await cache.use(reads("acme"))
    cache.advance(600)
    assert len(cache.sts.requests) == 2, "it was used once and refreshed once"
    cache.advance(3600)
    assert len(cache.sts.requests) == 2
    assert not cache.sessions._sessions


async def test_a_session_that_is_used_again_is_refreshed_again(cache: SessionCacheFixture) -> None:
    await cache.use(reads("acme"))
    cache.advance(550)
    second = await cache.use(reads("acme"))
    cache.advance(0.5)
    assert await cache.use(reads("acme")) == second
    cache.advance(545)
    assert len(cache.sts.requests) == 3


async def test_the_delay_doubles_with_each_failed_refresh_up_to_30_seconds(cache: SessionCacheFixture) -> None:
    await cache.use(reads("acme"))
    cache.sts.fail()
    retried_at = []
    for second in range(330):
        before = len(cache.sts.requests)
        cache.advance(541 if second == 0 else 1, step=541)
        if len(cache.sts.requests) > before:
            retried_at.append(cache.clock.now)
    delays = [later - earlier for earlier, later in pairwise(retried_at)]
    assert delays[:5] == [1, 2, 4, 8, 16]
    assert set(delays[5:]) == {30}


@pytest.mark.parametrize("failures", range(1, 40))
def test_half_of_every_retry_delay_is_random(failures: int) -> None:
    schedule = RefreshSchedule()
    shortest, longest = schedule.retry_delay_seconds(failures, 0.0), schedule.retry_delay_seconds(failures, 1.0)
    assert longest == min(30.0, 2.0 ** (failures - 1))
    assert shortest == longest / 2
