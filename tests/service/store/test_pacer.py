"""A pacer spreads items evenly over time, and never exceeds its rate."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfence.store.dynamodb.pacer import Pacer


def test_without_a_limit_there_is_no_delay() -> None:
    pacer = Pacer()
    assert [pacer.reserve(1000) for _ in range(3)] == [0, 0, 0]


def test_each_reservation_waits_for_the_earlier_ones() -> None:
    pacer = Pacer(10, clock=lambda: 100.0)
    assert [pacer.reserve(items) for items in (5, 20, 1)] == [0.0, 0.5, 2.5]


def test_unused_time_is_not_saved_for_later() -> None:
    now = [0.0]
    pacer = Pacer(10, clock=lambda: now[0])
    pacer.reserve(10)
    now[0] = 60.0
    assert [pacer.reserve(10), pacer.reserve(10)] == [0.0, 1.0]


@given(st.lists(st.tuples(st.floats(0, 5), st.integers(1, 100)), min_size=1, max_size=30), st.floats(1, 1000))
def test_the_rate_is_never_exceeded(calls: list[tuple[float, int]], per_second: float) -> None:
    now, passed = 0.0, 0
    pacer = Pacer(per_second, clock=lambda: now)
    for pause, items in calls:
        now += pause
        start = now + pacer.reserve(items)
        assert passed <= per_second * start + 1e-6
        passed += items


async def test_wait_sleeps_until_the_reserved_time(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr("keyfence.store.dynamodb.pacer.asyncio.sleep", sleep)
    pacer = Pacer(10, clock=lambda: 100.0)
    for items in (5, 20, 1):
        await pacer.wait(items)
    assert pauses == [0.5, 2.5]
