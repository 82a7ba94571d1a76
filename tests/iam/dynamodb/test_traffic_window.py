"""A traffic window counts units by key and time step, and drops steps that are too old."""

import pytest

from keyfence_iam.dynamodb.traffic_window import STEP_SECONDS, STEPS_PER_WINDOW, TrafficCounts, TrafficWindow
from tests.fakes.clock import ManualClock

START = 1_000_000.0
FIRST_STEP = int(START // STEP_SECONDS)


def test_each_step_counts_only_its_own_units() -> None:
    clock = ManualClock(START)
    window: TrafficWindow[str] = TrafficWindow(clock)
    for second in (0, 9.9, 10, 25):
        clock.now = START + second
        window.add("a", 1.5, 2.0)
    assert window.counts_by_step("a") == {
        FIRST_STEP: TrafficCounts(3.0, 4.0),
        FIRST_STEP + 1: TrafficCounts(1.5, 2.0),
        FIRST_STEP + 2: TrafficCounts(1.5, 2.0),
    }


@pytest.mark.parametrize(
    ("seconds_later", "steps"), [(STEP_SECONDS * STEPS_PER_WINDOW - 0.1, 1), (STEP_SECONDS * STEPS_PER_WINDOW, 0)]
)
def test_a_step_older_than_the_window_is_dropped(seconds_later: float, steps: int) -> None:
    clock = ManualClock(START)
    window: TrafficWindow[str] = TrafficWindow(clock)
    window.add("a", 1.0, 0.0)
    clock.now += seconds_later
    assert len(window.counts_by_step("a")) == steps


def test_the_number_of_steps_and_of_keys_in_a_step_is_bounded() -> None:
    clock = ManualClock(START)
    window: TrafficWindow[int] = TrafficWindow(clock, max_keys_per_step=5)
    for second in range(200):
        clock.now = START + second
        for key in range(20):
            window.add(key, 0.5, 0.0)
    sketches = list(window.recent_sketches())
    assert (len(sketches), {len(sketch) for sketch in sketches}) == (STEPS_PER_WINDOW, {5})


def test_the_length_and_number_of_steps_are_parameters() -> None:
    clock = ManualClock(START)
    window: TrafficWindow[str] = TrafficWindow(clock, step_seconds=1, steps_per_window=3)
    for second in range(5):
        clock.now = START + second
        window.add("a", 0.0, 1.0)
    assert window.counts_by_step("a") == {int(START) + second: TrafficCounts(0.0, 1.0) for second in (2, 3, 4)}


def test_a_clock_that_goes_back_counts_into_the_newest_step() -> None:
    clock = ManualClock(START)
    window: TrafficWindow[str] = TrafficWindow(clock)
    window.add("a", 0.0, 1.0)
    clock.now -= 3600
    window.add("a", 0.0, 1.0)
    assert window.counts_by_step("a") == {FIRST_STEP: TrafficCounts(0.0, 2.0)}
    assert window.load("a") == 0.002
