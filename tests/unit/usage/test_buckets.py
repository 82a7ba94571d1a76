"""A bucket lets through what its rate allows and two seconds' worth, never more, and forgets no debt."""

from hypothesis import given
from hypothesis import strategies as st

from keyfence.admission.tenant_limits import BURST_SECONDS, TokenBucket

RATES = st.floats(0.1, 10_000)
STEPS = st.lists(st.tuples(st.floats(0, 3), st.integers(0, 20)), max_size=60)


def test_a_full_bucket_holds_two_seconds_worth_or_the_least() -> None:
    assert TokenBucket.full(10.0, now=0.0).balance == 20.0
    assert TokenBucket.full(0.1, now=0.0, least=1.0).balance == 1.0


def test_what_was_taken_comes_back_at_the_rate_and_not_beyond_the_burst() -> None:
    bucket = TokenBucket.full(10.0, now=0.0)
    bucket.take(20.0, now=0.0)
    assert bucket.wait(1.0, now=0.0) == 0.1
    assert bucket.wait(1.0, now=0.1) == 0.0
    bucket.take(1.0, now=0.1)
    assert not bucket.is_full(now=2.0)
    assert bucket.is_full(now=100.0)
    assert bucket.balance == 20.0


def test_a_debt_is_waited_for_until_it_is_even() -> None:
    bucket = TokenBucket.full(10.0, now=0.0)
    bucket.take(50.0, now=0.0)
    assert bucket.wait(0.0, now=0.0) == 3.0
    assert bucket.wait(0.0, now=2.5) == 0.5
    assert bucket.wait(0.0, now=3.0) == 0.0


def test_another_rate_forgives_nothing_and_gives_nothing() -> None:
    bucket = TokenBucket.full(10.0, now=0.0)
    bucket.take(30.0, now=0.0)
    bucket.fit(100.0, now=0.0)
    assert (bucket.balance, bucket.wait(0.0, now=0.0)) == (-10.0, 0.1)
    rich = TokenBucket.full(100.0, now=0.0)
    rich.fit(1.0, now=0.0)
    assert rich.balance == 2.0
    poor = TokenBucket.full(1.0, now=0.0)
    poor.fit(100.0, now=0.0)
    assert poor.balance == 2.0


def test_time_that_has_passed_is_paid_at_the_rate_of_that_time() -> None:
    bucket = TokenBucket.full(10.0, now=0.0)
    bucket.take(20.0, now=0.0)
    bucket.fit(100.0, now=1.0)
    assert bucket.balance == 10.0


@given(rate=RATES, steps=STEPS)
def test_prepaid_over_any_time_no_more_passes_than_the_rate_and_the_burst(
    rate: float, steps: list[tuple[float, int]]
) -> None:
    bucket, now, passed = TokenBucket.full(rate, now=0.0, least=1.0), 0.0, 0
    for pause, wanted in steps:
        now += pause
        for _ in range(wanted):
            if not bucket.wait(1.0, now):
                bucket.take(1.0, now)
                passed += 1
    assert passed <= max(rate * (now + BURST_SECONDS), rate * now + 1) + 1e-6


@given(rate=RATES, steps=STEPS, cost=st.floats(0.5, 1_000))
def test_postpaid_over_any_time_only_the_last_request_is_too_much(
    rate: float, steps: list[tuple[float, int]], cost: float
) -> None:
    bucket, now, spent = TokenBucket.full(rate, now=0.0), 0.0, 0.0
    for pause, wanted in steps:
        now += pause
        for _ in range(wanted):
            if not bucket.wait(0.0, now):
                bucket.take(cost, now)
                spent += cost
    assert spent <= rate * (now + BURST_SECONDS) + cost + 1e-6 * (1 + spent)
