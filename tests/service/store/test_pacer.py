"""Items pass evenly and no faster than the rate, for any number of waiting tasks."""

from hypothesis import given
from hypothesis import strategies as st

from keyfence.store.dynamodb.pacer import Pacer


def test_without_a_limit_there_is_no_delay() -> None:
    rate = Pacer()
    assert [rate.reserve(1000) for _ in range(3)] == [0, 0, 0]


def test_each_reservation_waits_for_the_earlier_ones() -> None:
    rate = Pacer(10, clock=lambda: 100.0)
    assert [rate.reserve(items) for items in (5, 20, 1)] == [0.0, 0.5, 2.5]


def test_unused_time_is_not_saved_for_later() -> None:
    now = [0.0]
    rate = Pacer(10, clock=lambda: now[0])
    rate.reserve(10)
    now[0] = 60.0
    assert [rate.reserve(10), rate.reserve(10)] == [0.0, 1.0]


@given(st.lists(st.tuples(st.floats(0, 5), st.integers(1, 100)), min_size=1, max_size=30), st.floats(1, 1000))
def test_the_rate_is_never_exceeded(calls: list[tuple[float, int]], per_second: float) -> None:
    now, passed = 0.0, 0
    rate = Pacer(per_second, clock=lambda: now)
    for pause, items in calls:
        now += pause
        start = now + rate.reserve(items)
        assert passed <= per_second * start + 1e-6
        passed += items


async def test_wait_sleeps_until_the_reserved_time() -> None:
    rate = Pacer(1000)
    await rate.wait(10)
    assert rate.reserve(1) > 0
