"""A window holds a minute in steps of ten seconds, and forgets what is older."""

import pytest

from keyfence.hot_partitions.partition_load import (
    STEP_SECONDS,
    STEPS_PER_WINDOW,
    CapacityUnits,
    PartitionLoad,
    step_of,
    sum_by_partition,
)
from keyfence.hot_partitions.window import TrafficWindow

from .clock import ACME, START, Clock, open_orders

FIRST = step_of(START)


def test_a_step_sums_what_falls_into_it_and_the_next_one_begins_with_nothing() -> None:
    clock = Clock()
    window = TrafficWindow(clock)
    for second in (0, 9.9, 10, 25):
        clock.seconds = START + second
        window.add(open_orders(), 1.5, 2.0)
    assert window.steps(open_orders()) == {
        FIRST: CapacityUnits(3.0, 4.0),
        FIRST + 1: CapacityUnits(1.5, 2.0),
        FIRST + 2: CapacityUnits(1.5, 2.0),
    }


@pytest.mark.parametrize(
    ("later", "left"), [(STEP_SECONDS * STEPS_PER_WINDOW - 0.1, 1), (STEP_SECONDS * STEPS_PER_WINDOW, 0)]
)
def test_what_is_older_than_a_window_is_gone(later: float, left: int) -> None:
    clock = Clock()
    window = TrafficWindow(clock)
    window.add(open_orders(), 1.0, 0.0)
    clock.seconds += later
    assert len(window.steps(open_orders())) == left


def test_it_never_holds_more_than_a_window_and_never_more_than_its_size_of_a_step() -> None:
    clock = Clock()
    window = TrafficWindow(clock, size=5)
    for second in range(200):
        clock.seconds = START + second
        for slot in range(20):
            window.add(open_orders(f"{slot:02x}"), 0.5, 0.0)
    sketches = list(window.recent())
    assert (len(sketches), {len(one) for one in sketches}) == (STEPS_PER_WINDOW, {5})


def test_a_clock_that_is_put_back_counts_into_the_step_that_was_reached() -> None:
    clock = Clock()
    window = TrafficWindow(clock)
    window.add(open_orders(), 0.0, 1.0)
    clock.seconds -= 3600
    window.add(open_orders(), 0.0, 1.0)
    assert window.steps(open_orders()) == {FIRST: CapacityUnits(0.0, 2.0)}


def test_a_peak_is_the_busiest_step_and_not_the_mean_of_the_window() -> None:
    spot = PartitionLoad(
        open_orders(), "open_orders", {1: CapacityUnits(300.0, 50.0, 10, 2), 2: CapacityUnits(30.0, 6_000.0, 5, 3)}
    )
    assert (spot.read, spot.write, spot.throttled, spot.units_per_read) == (30.0, 600.0, 5, 22.0)
    assert spot.share == 0.6


def test_the_peak_of_several_servers_is_of_the_same_moment() -> None:
    one = PartitionLoad(
        open_orders(), "open_orders", {1: CapacityUnits(write=1_000.0), 2: CapacityUnits(write=4_000.0)}
    )
    other = PartitionLoad(
        open_orders(), "open_orders", {1: CapacityUnits(write=5_000.0), 2: CapacityUnits(write=1_000.0)}
    )
    elsewhere = PartitionLoad(open_orders("01"), "open_orders", {1: CapacityUnits(write=9_000.0)})
    both, alone = sum_by_partition([one, other, elsewhere])
    assert (both.write, alone.write) == (600.0, 900.0)
    assert both.place.tenant == ACME
