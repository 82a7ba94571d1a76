"""A token bucket never gives out more than its rate and burst, keeps a negative balance, and keeps its reserve."""

from hypothesis import given
from hypothesis import strategies as st

from keyfence_iam.token_bucket import TokenBucket, call_budget

BURST_SECONDS = 2.0
RATES = st.floats(0.1, 10_000)
STEPS = st.lists(st.tuples(st.floats(0, 3), st.integers(0, 20)), max_size=60)


def full_bucket(rate: float, minimum_burst: float = 0.0) -> TokenBucket:
    return TokenBucket.full(rate, max(rate * BURST_SECONDS, minimum_burst), now=0.0)


def test_a_full_bucket_holds_its_burst() -> None:
    assert TokenBucket.full(10.0, 20.0, now=0.0).available(0.0) == 20.0


def test_taken_tokens_come_back_at_the_rate_up_to_the_burst() -> None:
    bucket = full_bucket(10.0)
    bucket.take(20.0, now=0.0)
    assert bucket.seconds_until(1.0, now=0.0) == 0.1
    assert bucket.seconds_until(1.0, now=0.1) == 0.0
    bucket.take(1.0, now=0.1)
    assert not bucket.is_full(now=2.0)
    assert bucket.is_full(now=100.0)
    assert bucket.balance == 20.0


def test_tokens_that_are_given_back_do_not_exceed_the_burst() -> None:
    bucket = full_bucket(10.0)
    bucket.take(5.0, now=0.0)
    bucket.take(-500.0, now=0.0)
    assert bucket.available(now=0.0) == 20.0


def test_a_debt_lasts_until_it_is_refilled() -> None:
    bucket = full_bucket(10.0)
    bucket.take(50.0, now=0.0)
    assert bucket.seconds_until(0.0, now=0.0) == 3.0
    assert bucket.seconds_until(0.0, now=2.5) == 0.5
    assert bucket.seconds_until(0.0, now=3.0) == 0.0


def test_resizing_keeps_the_balance_and_the_debt() -> None:
    indebted = full_bucket(10.0)
    indebted.take(30.0, now=0.0)
    indebted.resize(100.0, 200.0, now=0.0)
    assert (indebted.balance, indebted.seconds_until(0.0, now=0.0)) == (-10.0, 0.1)
    smaller = full_bucket(100.0)
    smaller.resize(1.0, 2.0, now=0.0)
    assert smaller.balance == 2.0
    larger = full_bucket(1.0)
    larger.resize(100.0, 200.0, now=0.0)
    assert larger.balance == 2.0


def test_time_before_a_resize_is_refilled_at_the_old_rate() -> None:
    bucket = full_bucket(10.0)
    bucket.take(20.0, now=0.0)
    bucket.resize(100.0, 200.0, now=1.0)
    assert bucket.balance == 10.0


@given(rate=RATES, steps=STEPS)
def test_calls_that_take_tokens_in_advance_never_exceed_rate_and_burst(
    rate: float, steps: list[tuple[float, int]]
) -> None:
    bucket, now, passed = full_bucket(rate, minimum_burst=1.0), 0.0, 0
    for pause, calls in steps:
        now += pause
        for _ in range(calls):
            if not bucket.seconds_until(1.0, now):
                bucket.take(1.0, now)
                passed += 1
    assert passed <= max(rate * (now + BURST_SECONDS), rate * now + 1) + 1e-6


@given(rate=RATES, steps=STEPS, cost=st.floats(0.5, 1_000))
def test_calls_that_take_tokens_afterwards_exceed_rate_and_burst_by_one_call_at_most(
    rate: float, steps: list[tuple[float, int]], cost: float
) -> None:
    bucket, now, spent = full_bucket(rate), 0.0, 0.0
    for pause, calls in steps:
        now += pause
        for _ in range(calls):
            if not bucket.seconds_until(0.0, now):
                bucket.take(cost, now)
                spent += cost
    assert spent <= rate * (now + BURST_SECONDS) + cost + 1e-6 * (1 + spent)


@given(rate=st.floats(0.1, 1000), steps=st.lists(st.tuples(st.floats(0, 10), st.booleans()), max_size=200))
def test_a_call_budget_never_exceeds_rate_and_burst(rate: float, steps: list[tuple[float, bool]]) -> None:
    budget, now, taken = call_budget(rate), 0.0, 0
    for pause, use_reserve in steps:
        now += pause
        taken += budget.try_take(1.0, now, use_reserve=use_reserve)
        assert taken <= budget.burst + now * rate + 1e-6


@given(rate=st.floats(0.1, 1000), use_reserve=st.booleans())
def test_a_call_is_possible_after_seconds_until_and_not_before(rate: float, use_reserve: bool) -> None:
    budget = call_budget(rate)
    while budget.try_take(1.0, 0.0, use_reserve=use_reserve):
        pass
    wait = budget.seconds_until(1.0, 0.0, use_reserve=use_reserve)
    assert not budget.try_take(1.0, wait * 0.9, use_reserve=use_reserve)
    assert budget.try_take(1.0, wait + 1e-6, use_reserve=use_reserve)


def test_the_reserve_is_only_for_callers_that_use_it() -> None:
    budget = call_budget(50.0)
    ordinary = sum(budget.try_take(1.0, 0.0) for _ in range(200))
    reserved = sum(budget.try_take(1.0, 0.0, use_reserve=True) for _ in range(200))
    assert (ordinary, reserved) == (90, 10)


def test_a_clock_that_goes_back_neither_adds_nor_removes_tokens() -> None:
    budget = call_budget(1.0)
    while budget.try_take(1.0, 100.0, use_reserve=True):
        pass
    assert not budget.try_take(1.0, 50.0, use_reserve=True)
    assert not budget.try_take(1.0, 50.5, use_reserve=True)
    assert budget.try_take(1.0, 51.5, use_reserve=True)
