"""STS is asked no more often than the budget allows, and renewals come before new tenants."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfence_iam.sts.session_spec import SessionThrottled
from keyfence_iam.token_bucket import Budget

from .scripted import Scene, reads, scene


async def crowd(stage: Scene) -> None:
    """A hundred new tenants."""
    for number in range(100):
        await stage.use(reads(f"t{number:02}"))


@given(
    rate=st.floats(0.1, 1000),
    steps=st.lists(st.tuples(st.floats(0, 10), st.booleans()), max_size=200),
)
def test_no_stretch_of_time_sees_more_calls_than_rate_and_burst_allow(
    rate: float, steps: list[tuple[float, bool]]
) -> None:
    budget, now, taken = Budget(rate), 0.0, 0
    for pause, renewal in steps:
        now += pause
        taken += budget.take(now, renewal=renewal)
        assert taken <= budget.burst + now * rate + 1e-6


@given(rate=st.floats(0.1, 1000), renewal=st.booleans())
def test_after_the_wait_that_was_named_the_call_can_be_afforded(rate: float, renewal: bool) -> None:
    budget = Budget(rate)
    while budget.take(0.0, renewal=renewal):
        pass
    wait = budget.wait(renewal=renewal)
    assert not budget.take(wait * 0.9, renewal=renewal)
    assert budget.take(wait + 1e-6, renewal=renewal)


def test_a_clock_that_goes_back_gives_nothing_and_takes_nothing() -> None:
    budget = Budget(1.0)
    while budget.take(100.0, renewal=True):
        pass
    assert not budget.take(50.0, renewal=True)
    assert not budget.take(50.5, renewal=True)
    assert budget.take(51.5, renewal=True)


async def test_beyond_the_budget_a_new_tenant_is_told_when_to_come_again() -> None:
    stage = scene(budget=Budget(5.0))
    with pytest.raises(SessionThrottled) as refused:
        await crowd(stage)
    assert len(stage.sts.asked) == 9, "two seconds' worth, less what is kept for renewals"
    assert stage.vending.counts["throttled"] == 1
    assert refused.value.retry_after > 0
    stage.clock.now += refused.value.retry_after + 0.001
    assert await stage.use(reads("t99"))


async def test_those_who_are_served_cost_no_budget() -> None:
    stage = scene(budget=Budget(1.0))
    for _ in range(100):
        await stage.use(reads("acme"))
    assert stage.vending.counts["throttled"] == 0


async def test_new_tenants_cannot_use_up_what_renewals_need() -> None:
    stage = scene(budget=Budget(10.0))
    await stage.use(reads("acme"))
    stage.clock.now += 541
    with pytest.raises(SessionThrottled):
        await crowd(stage)
    stage.vending.refresh_due()
    stage.settle()
    assert stage.vending.counts["renewed"] == 1


async def test_a_renewal_beyond_the_budget_waits_for_it() -> None:
    stage = scene(budget=Budget(1.0))
    await stage.use(reads("a1"))
    stage.clock.now += 1
    await stage.use(reads("a2"))
    stage.clock.now += 1
    await stage.use(reads("a3"))
    stage.clock.now += 541
    for renewed in (2, 2, 3):
        stage.vending.refresh_due()
        stage.settle()
        assert stage.vending.counts["renewed"] == renewed
        stage.clock.now += 0.5
    assert stage.vending.counts["throttled"] == 0
