"""The slots of the model keep the limits of partitions, as the gate does."""

import pytest

from keyfence.tenancy.tier_quotas import Tier
from keyfence_iam.dynamodb.capacity import Partition, PartitionUnits
from keyfence_iam.gate.throughput.partition_buckets import PartitionBuckets, PartitionRates
from tests.benchmarks.scale.model import begun, step
from tests.benchmarks.scale.outcome import Outcome
from tests.benchmarks.scale.policy import Fixed
from tests.benchmarks.scale.slots import Slots, page_units
from tests.benchmarks.scale.tenant import Tenant

SHORT, LONG = PartitionRates(burst_seconds=1), PartitionRates(burst_seconds=300)


def stepped(writes: float, slots: int, seconds: int, rates: PartitionRates, quiet: int = 0) -> Outcome:
    """Of one tenant that asks for so much without a swing, and before that for nothing."""
    tenant = Tenant(tier=Tier.ENTERPRISE, base=0, most=1e9, hot=writes, hot_at=quiet)
    outcome = begun("fixed", seconds, rates)
    step(tenant, Fixed(slots), rates, outcome)
    return outcome


def test_five_times_the_limit_on_one_slot_throttles_four_of_five_writes() -> None:
    outcome = stepped(5_000, 1, 100, SHORT)
    assert outcome.throttled_writes == pytest.approx(0.8 * 5_000 * 100, rel=0.01)


def test_what_was_saved_up_is_given_out_first() -> None:
    """300,000 units last 75 seconds, at 4,000 more than come in."""
    begins_full = stepped(5_000, 1, 601, LONG, quiet=1)
    early, late = begins_full.throttled_by_step[:7], begins_full.throttled_by_step[8:60]
    assert early == [0.0] * 7
    assert late == [pytest.approx(40_000)] * 52


def test_eight_slots_carry_it_without_a_throttle() -> None:
    outcome = stepped(5_000, 8, 100, SHORT)
    assert outcome.throttled == 0
    assert outcome.write_units == 2 * 5_000 * 100


def test_a_write_that_the_index_turns_away_costs_nothing_in_the_table_either() -> None:
    outcome = stepped(5_000, 1, 100, SHORT)
    assert outcome.write_units == pytest.approx(2 * (5_000 * 100 - outcome.throttled_writes))


def test_reads_over_more_slots_cost_half_a_unit_for_each_at_least() -> None:
    assert [page_units(slots) for slots in (1, 2, 3, 10, 256)] == [1, 1, 1.5, 5, 128]


def test_reads_are_limited_and_more_slots_help_no_further_than_half_a_unit() -> None:
    """8,000 pages a second cost 8,000 units in one slot, and 4,000 in each of many."""
    shares = [stepped(16_000, slots, 50, SHORT).throttled_pages / (8_000 * 50) for slots in (1, 2, 20)]
    assert shares == [pytest.approx(5 / 8, abs=0.01), pytest.approx(0.25, abs=0.01), pytest.approx(0.25, abs=0.01)]


def test_a_new_slot_has_its_rate_and_has_saved_up_nothing() -> None:
    slots = Slots(LONG, 1, writes=5_000, pages=0)
    slots.write([5_000], 0)
    slots.widen(3, 1)
    assert slots.write([0, 9_000, 9_000], 1) == 2_000
    assert len(slots) == 3


@pytest.mark.parametrize("rates", [SHORT, PartitionRates(burst_seconds=5)])
@pytest.mark.parametrize("asked", [900, 1_000, 1_500, 5_000])
def test_a_second_of_the_model_is_a_second_of_the_gate(rates: PartitionRates, asked: int) -> None:
    now = 0.0
    gate, slots = PartitionBuckets(rates, lambda: now), Slots(rates, 1, writes=0, pages=0)
    claim = PartitionUnits(Partition("t", "GSI2", "TENANT#a1#OPEN#00"), "write", 1)
    for second in range(20):
        now, admitted = float(second), 0
        while admitted < asked and gate.has_units(claim):
            gate.take([claim])
            admitted += 1
        assert slots.write([asked], second) == admitted
