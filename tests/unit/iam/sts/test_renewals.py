"""Sessions in use are renewed early, at different times, and without anybody waiting."""

from itertools import pairwise

import pytest

from keyfence_iam.sts.refresh import RefreshSchedule
from tests.fakes.sts import SessionCacheFixture, reads, session_cache


async def test_the_session_in_hand_goes_on_being_handed_out_while_it_is_renewed(stage: SessionCacheFixture) -> None:
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
async def test_chance_places_a_renewal_between_half_and_six_tenths_of_the_life(chance: float, due: int) -> None:
    stage = session_cache(random_share=lambda: chance)
    await stage.use(reads("acme"))
    stage.clock.now += due - 1
    stage.sessions.refresh_due()
    stage.settle()
    assert len(stage.sts.requests) == 1
    stage.clock.now += 1
    stage.sessions.refresh_due()
    stage.settle()
    assert len(stage.sts.requests) == 2


async def test_sessions_that_were_issued_together_are_not_renewed_together() -> None:
    numbers = iter([n / 20 for n in range(20)])
    stage = session_cache(random_share=lambda: next(numbers, 0.5))
    for number in range(20):
        await stage.use(reads(f"t{number:02}"))
    stage.advance(452)
    assert 20 < len(stage.sts.requests) < 25
    stage.advance(90)
    assert len(stage.sts.requests) == 40


async def test_a_session_in_use_always_has_more_than_five_minutes_to_go(stage: SessionCacheFixture) -> None:
    for _ in range(1000):
        await stage.use(reads("acme"))
        stage.advance(5)
        (held,) = stage.sessions._sessions.values()
        assert held.valid_until - stage.clock.now > 300


async def test_a_session_that_nobody_used_since_it_was_issued_is_let_go(stage: SessionCacheFixture) -> None:
    await stage.use(reads("acme"))
    stage.advance(600)
    assert len(stage.sts.requests) == 2, "it was used once, and renewed once"
    stage.advance(3600)
    assert len(stage.sts.requests) == 2
    assert not stage.sessions._sessions


async def test_an_idle_session_that_is_used_late_is_renewed_then(stage: SessionCacheFixture) -> None:
    await stage.use(reads("acme"))
    stage.advance(550)
    second = await stage.use(reads("acme"))
    stage.advance(0.5)
    assert await stage.use(reads("acme")) == second
    stage.advance(545)
    assert len(stage.sts.requests) == 3


async def test_renewals_that_fail_are_tried_less_and_less_often(stage: SessionCacheFixture) -> None:
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
def test_half_of_every_pause_is_left_to_chance(failures: int) -> None:
    pace = RefreshSchedule()
    shortest, longest = pace.retry_after(failures, 0.0), pace.retry_after(failures, 1.0)
    assert longest == min(30.0, 2.0 ** (failures - 1))
    assert shortest == longest / 2
