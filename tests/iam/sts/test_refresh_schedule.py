"""Sessions in use are refreshed early, at different times, without any caller waiting."""

from itertools import pairwise

import pytest

from keyfence_iam.sts.session_refresh import RefreshSchedule
from tests.fakes.sts import SessionCacheFixture, reads, session_cache


async def test_the_cached_session_is_given_out_while_it_is_refreshed(stage: SessionCacheFixture) -> None:
    first = await stage.use(reads("acme"))
    stage.clock.now += 541
    stage.sts.open.clear()
    assert [await stage.use(reads("acme")) for _ in range(10)] == [first] * 10
    stage.sts.open.set()
    stage.settle()
    assert await stage.use(reads("acme")) != first
    assert len(stage.sts.requests) == 2
    assert stage.sessions.counts == {"issued": 1, "renewed": 1, "failed": 0, "throttled": 0}


@pytest.mark.parametrize(("chance", "due"), [(0.0, 450), (0.5, 495), (1.0, 540)])
async def test_a_refresh_is_at_a_random_time_between_50_and_60_percent_of_the_lifetime(chance: float, due: int) -> None:
    stage = session_cache(random_number=lambda: chance)
    await stage.use(reads("acme"))
    stage.clock.now += due - 1
    stage.sessions.refresh_due()
    stage.settle()
    assert len(stage.sts.requests) == 1
    stage.clock.now += 1
    stage.sessions.refresh_due()
    stage.settle()
    assert len(stage.sts.requests) == 2


async def test_sessions_that_were_issued_together_are_refreshed_apart() -> None:
    numbers = iter([n / 20 for n in range(20)])
    stage = session_cache(random_number=lambda: next(numbers, 0.5))
    for number in range(20):
        await stage.use(reads(f"t{number:02}"))
    stage.advance(452)
    assert 20 < len(stage.sts.requests) < 25
    stage.advance(90)
    assert len(stage.sts.requests) == 40


async def test_a_session_in_use_is_always_valid_for_more_than_five_minutes(stage: SessionCacheFixture) -> None:
    for _ in range(1000):
        await stage.use(reads("acme"))
        stage.advance(5)
        (held,) = stage.sessions._sessions.values()
        assert held.valid_until - stage.clock.now > 300


async def test_an_unused_session_is_not_refreshed(stage: SessionCacheFixture) -> None:
    await stage.use(reads("acme"))
    stage.advance(600)
    assert len(stage.sts.requests) == 2, "it was used once, and renewed once"
    stage.advance(3600)
    assert len(stage.sts.requests) == 2
    assert not stage.sessions._sessions


async def test_an_idle_session_that_is_used_late_is_refreshed_then(stage: SessionCacheFixture) -> None:
    await stage.use(reads("acme"))
    stage.advance(550)
    second = await stage.use(reads("acme"))
    stage.advance(0.5)
    assert await stage.use(reads("acme")) == second
    stage.advance(545)
    assert len(stage.sts.requests) == 3


async def test_failed_refreshes_are_retried_less_and_less_often(stage: SessionCacheFixture) -> None:
    await stage.use(reads("acme"))
    stage.sts.fail()
    tried = []
    for second in range(330):
        before = len(stage.sts.requests)
        stage.advance(541 if second == 0 else 1, step=541)
        if len(stage.sts.requests) > before:
            tried.append(stage.clock.now)
    pauses = [later - earlier for earlier, later in pairwise(tried)]
    assert pauses[:5] == [1, 2, 4, 8, 16]
    assert set(pauses[5:]) == {30}


@pytest.mark.parametrize("failures", range(1, 40))
def test_half_of_every_retry_interval_is_random(failures: int) -> None:
    pace = RefreshSchedule()
    shortest, longest = pace.retry_delay_seconds(failures, 0.0), pace.retry_delay_seconds(failures, 1.0)
    assert longest == min(30.0, 2.0 ** (failures - 1))
    assert shortest == longest / 2
