"""The shards of the model have the limits of partitions, as in the gate."""

import pytest

from keyfence.tenancy.tier_quotas import Tier
from keyfence_iam.dynamodb.capacity import Partition, PartitionUnits
from keyfence_iam.gate.throughput.partition_rates import PartitionBuckets, PartitionRates
from tests.benchmarks.scale.model import new_outcome, simulate
from tests.benchmarks.scale.outcome import Outcome
from tests.benchmarks.scale.shard_buckets import ShardBuckets, page_units
from tests.benchmarks.scale.shard_policies import FixedShards
from tests.benchmarks.scale.tenant import Tenant

SHORT_BURST, LONG_BURST = PartitionRates(burst_seconds=1), PartitionRates(burst_seconds=300)


def simulated(writes: float, shards: int, seconds: int, rates: PartitionRates, quiet_seconds: int = 0) -> Outcome:
    """Returns the outcome of one tenant with constant traffic, after `quiet_seconds` without traffic."""
    tenant = Tenant(tier=Tier.ENTERPRISE, average_writes=0, max_writes=1e9, hot_writes=writes, hot_at=quiet_seconds)
    outcome = new_outcome("fixed", seconds, rates)
    simulate(tenant, FixedShards(shards), rates, outcome)
    return outcome


def test_five_times_the_limit_on_one_shard_throttles_four_of_five_writes() -> None:
    outcome = simulated(5_000, 1, 100, SHORT_BURST)
    assert outcome.throttled_writes == pytest.approx(0.8 * 5_000 * 100, rel=0.01)


def test_burst_capacity_is_used_before_writes_are_throttled() -> None:
    """The 300,000 units of burst capacity last 75 seconds: each second uses 5,000 units and adds 1,000."""
    outcome = simulated(5_000, 1, 601, LONG_BURST, quiet_seconds=1)
    early, late = outcome.throttled_by_step[:7], outcome.throttled_by_step[8:60]
    assert early == [0.0] * 7
    assert late == [pytest.approx(40_000)] * 52


def test_eight_shards_serve_five_times_the_limit_without_throttling() -> None:
    outcome = simulated(5_000, 8, 100, SHORT_BURST)
    assert outcome.throttled == 0
    assert outcome.write_units == 2 * 5_000 * 100


def test_a_write_that_the_index_throttles_costs_nothing_in_the_table_either() -> None:
    outcome = simulated(5_000, 1, 100, SHORT_BURST)
    assert outcome.write_units == pytest.approx(2 * (5_000 * 100 - outcome.throttled_writes))


def test_a_page_costs_at_least_half_a_unit_for_each_shard() -> None:
    assert [page_units(shards) for shards in (1, 2, 3, 10, 256)] == [1, 1, 1.5, 5, 128]


def test_reads_are_throttled_and_more_shards_help_only_down_to_half_a_unit_each() -> None:
    """8,000 pages a second cost 8,000 units in one shard, and 4,000 in each of many."""
    shares = [simulated(16_000, shards, 50, SHORT_BURST).throttled_pages / (8_000 * 50) for shards in (1, 2, 20)]
    assert shares == [pytest.approx(5 / 8, abs=0.01), pytest.approx(0.25, abs=0.01), pytest.approx(0.25, abs=0.01)]


def test_a_new_shard_has_the_units_of_one_second_and_no_burst_capacity() -> None:
    shards = ShardBuckets(LONG_BURST, 1, writes=5_000, pages=0)
    shards.write([5_000], 0)
    shards.grow(3, 1)
    assert shards.write([0, 9_000, 9_000], 1) == 2_000
    assert len(shards) == 3


@pytest.mark.parametrize("rates", [SHORT_BURST, PartitionRates(burst_seconds=5)])
@pytest.mark.parametrize("requested_writes", [900, 1_000, 1_500, 5_000])
def test_the_model_admits_as_many_writes_in_each_second_as_the_gate(
    rates: PartitionRates, requested_writes: int
) -> None:
    now = 0.0
    gate, shards = PartitionBuckets(rates, lambda: now), ShardBuckets(rates, 1, writes=0, pages=0)
    units = PartitionUnits(Partition("t", "GSI2", "TENANT#a1#OPEN#00"), "write", 1)
    for second in range(20):
        now, admitted = float(second), 0
        while admitted < requested_writes and gate.has_units(units):
            gate.take([units])
            admitted += 1
        assert shards.write([requested_writes], second) == admitted
