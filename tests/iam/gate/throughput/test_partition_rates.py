"""A partition serves its rate and its burst. Only the buckets of unused partitions are dropped."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfence_iam.dynamodb.capacity import Partition, PartitionUnits, UnitKind
from keyfence_iam.gate.throughput.partition_rates import PartitionBuckets, PartitionRates
from tests.fakes.clock import ManualClock

RATES = PartitionRates(read=30, write=10, burst_seconds=2)


def units_of(name: str = "A", units: float = 1, kind: UnitKind = "write", index: str | None = None) -> PartitionUnits:
    return PartitionUnits(Partition("t", index, name), kind, units)


def take_all(buckets: PartitionBuckets, units: PartitionUnits, maximum: int = 1000) -> float:
    """Takes units until the partition has none left, and returns how many were taken."""
    taken = 0.0
    while taken < maximum and buckets.has_units(units):
        buckets.take([units])
        taken += units.units
    return taken


@pytest.mark.parametrize(("kind", "burst"), [("read", 60), ("write", 20)])
def test_an_unused_partition_has_its_full_burst(kind: UnitKind, burst: float) -> None:
    assert take_all(PartitionBuckets(RATES, ManualClock()), units_of(kind=kind)) == burst


def test_units_are_refilled_at_the_rate_up_to_the_burst() -> None:
    clock = ManualClock()
    buckets = PartitionBuckets(RATES, clock)
    take_all(buckets, units_of())
    clock.now += 0.5
    assert take_all(buckets, units_of()) == 5
    clock.now += 100
    assert take_all(buckets, units_of()) == 20


def test_reads_writes_indexes_tables_and_neighbours_have_separate_buckets() -> None:
    buckets = PartitionBuckets(RATES, ManualClock())
    take_all(buckets, units_of("TENANT#a1#X"))
    others = [units_of("TENANT#a1#X", kind="read"), units_of("TENANT#a1#X", index="GSI1"), units_of("TENANT#a10#X")]
    assert all(buckets.has_units(other) for other in others)
    assert buckets.has_units(PartitionUnits(Partition("another", None, "TENANT#a1#X"), "write", 1))
    assert not buckets.has_units(units_of("TENANT#a1#X"))


def test_a_partition_in_debt_has_no_units_until_the_debt_is_refilled() -> None:
    clock = ManualClock()
    buckets = PartitionBuckets(RATES, clock)
    buckets.take([units_of(units=50)])
    clock.now += 3
    assert not buckets.has_units(units_of())
    clock.now += 0.01
    assert buckets.has_units(units_of())


def test_units_that_are_given_back_do_not_exceed_the_burst() -> None:
    buckets = PartitionBuckets(RATES, ManualClock())
    buckets.take([units_of(units=5)])
    buckets.give_back([units_of(units=500)])
    assert take_all(buckets, units_of()) == 20


def test_the_number_of_buckets_is_limited_and_a_bucket_in_debt_is_kept_while_it_is_used() -> None:
    buckets = PartitionBuckets(RATES, ManualClock(), max_buckets=10)
    buckets.take([units_of("DEBT", 1000)])
    for number in range(100):
        buckets.take([units_of(str(number))])
        assert not buckets.has_units(units_of("DEBT"))
    assert len(buckets) == 10


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0.5, 8)), max_size=200))
def test_usage_never_exceeds_the_rate_plus_the_burst_plus_one_call(
    steps: list[tuple[float, float]],
) -> None:
    clock = ManualClock()
    buckets, start, taken = PartitionBuckets(RATES, clock), clock.now, 0.0
    for pause, units in steps:
        clock.now += pause
        if buckets.has_units(units_of()):
            buckets.take([units_of(units=units)])
            taken += units
        assert taken <= RATES.write * (clock.now - start + RATES.burst_seconds) + 8 + 1e-6
