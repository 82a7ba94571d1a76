"""A partition serves its rate and its burst, and only buckets that are not needed are dropped."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from keyfence_iam.dynamodb.capacity import Partition, PartitionUnits, UnitKind
from keyfence_iam.gate.throughput.partition_buckets import PartitionBuckets, PartitionRates
from tests.fakes.clock import ManualClock

RATES = PartitionRates(read=30, write=10, burst_seconds=2)


def claim(name: str = "A", units: float = 1, kind: UnitKind = "write", index: str | None = None) -> PartitionUnits:
    return PartitionUnits(Partition("t", index, name), kind, units)


def given_out(buckets: PartitionBuckets, one: PartitionUnits, most: int = 1000) -> float:
    """Takes units until the partition is closed, and returns how many."""
    taken = 0.0
    while taken < most and buckets.has_units(one):
        buckets.take([one])
        taken += one.units
    return taken


@pytest.mark.parametrize(("kind", "burst"), [("read", 60), ("write", 20)])
def test_an_unused_partition_has_its_full_burst(kind: UnitKind, burst: float) -> None:
    assert given_out(PartitionBuckets(RATES, ManualClock()), claim(kind=kind)) == burst


def test_units_are_refilled_at_the_rate_up_to_the_burst() -> None:
    clock = ManualClock()
    buckets = PartitionBuckets(RATES, clock)
    given_out(buckets, claim())
    clock.now += 0.5
    assert given_out(buckets, claim()) == 5
    clock.now += 100
    assert given_out(buckets, claim()) == 20


def test_reads_writes_indexes_tables_and_neighbours_have_separate_buckets() -> None:
    buckets = PartitionBuckets(RATES, ManualClock())
    given_out(buckets, claim("TENANT#a1#X"))
    others = [claim("TENANT#a1#X", kind="read"), claim("TENANT#a1#X", index="GSI1"), claim("TENANT#a10#X")]
    assert all(buckets.has_units(other) for other in others)
    assert buckets.has_units(PartitionUnits(Partition("another", None, "TENANT#a1#X"), "write", 1))
    assert not buckets.has_units(claim("TENANT#a1#X"))


def test_a_partition_in_debt_is_closed_until_the_debt_is_refilled() -> None:
    clock = ManualClock()
    buckets = PartitionBuckets(RATES, clock)
    buckets.take([claim(units=50)])
    clock.now += 3
    assert not buckets.has_units(claim())
    clock.now += 0.01
    assert buckets.has_units(claim())


def test_units_that_are_given_back_do_not_exceed_the_burst() -> None:
    buckets = PartitionBuckets(RATES, ManualClock())
    buckets.take([claim(units=5)])
    buckets.give_back([claim(units=500)])
    assert given_out(buckets, claim()) == 20


def test_the_number_of_buckets_is_bounded_and_a_busy_one_in_debt_stays() -> None:
    buckets = PartitionBuckets(RATES, ManualClock(), max_buckets=10)
    buckets.take([claim("DEBT", 1000)])
    for number in range(100):
        buckets.take([claim(str(number))])
        assert not buckets.has_units(claim("DEBT"))
    assert len(buckets) == 10


@given(some.lists(some.tuples(some.floats(0, 1), some.floats(0.5, 8)), max_size=200))
def test_usage_never_exceeds_rate_burst_and_one_call(
    steps: list[tuple[float, float]],
) -> None:
    clock = ManualClock()
    buckets, start, taken = PartitionBuckets(RATES, clock), clock.now, 0.0
    for pause, units in steps:
        clock.now += pause
        if buckets.has_units(claim()):
            buckets.take([claim(units=units)])
            taken += units
        assert taken <= RATES.write * (clock.now - start + RATES.burst_seconds) + 8 + 1e-6
