"""Formulas and simulation agree for quiet tenants, and every policy gets the same traffic."""

from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfence.hot_partitions.shard_recommendation import AUTOPILOT_MAX_SHARDS
from keyfence.tenancy.tier_quotas import Tier
from keyfence_iam.gate.throughput.partition_rates import PartitionRates
from tests.benchmarks.scale.model import (
    RandomSources,
    count_quiet_tenant,
    may_reach_limit,
    new_outcome,
    run,
    run_all,
    simulate,
)
from tests.benchmarks.scale.outcome import Outcome
from tests.benchmarks.scale.population import RunParameters, population
from tests.benchmarks.scale.shard_policies import POLICIES, Autopilot, FixedShards
from tests.benchmarks.scale.tenant import Tenant

RATES = PartitionRates(burst_seconds=1)
SMALL_RUN = RunParameters(tenants=3_000, seconds=200, writes=20_000)
FIGURES = ("requests", "read_units", "write_units", "extra_read_units", "throttled_writes", "throttled_pages")

quiet_tenants = st.builds(
    Tenant,
    tier=st.just(Tier.PREMIUM),
    average_writes=st.floats(0, 100),
    max_writes=st.just(2_500.0),
    day_phase=st.floats(0, 1),
    burst_at=st.none() | st.integers(0, 300),
    hot_at=st.none() | st.integers(0, 300),
    hot_writes=st.floats(0, 100),
)


@given(quiet_tenants, st.integers(1, 300), st.sampled_from(list(POLICIES)))
def test_the_formula_agrees_with_the_simulation(tenant: Tenant, seconds: int, policy: str) -> None:
    assert not may_reach_limit(tenant, RATES)
    counted, simulated = new_outcome(policy, seconds, RATES), new_outcome(policy, seconds, RATES)
    count_quiet_tenant(tenant, POLICIES[policy](tenant, RATES), counted)
    simulate(tenant, POLICIES[policy](tenant, RATES), RATES, simulated)
    for figure in FIGURES:
        assert getattr(counted, figure) == pytest.approx(getattr(simulated, figure), rel=1e-6, abs=1e-6)


def test_random_variation_changes_the_sums_of_a_quiet_tenant_by_little() -> None:
    tenant = Tenant(tier=Tier.PREMIUM, average_writes=120, max_writes=2_500, day_phase=0.2, burst_at=50)
    assert not may_reach_limit(tenant, RATES)
    counted, simulated = new_outcome("autopilot", 600, RATES), new_outcome("autopilot", 600, RATES)
    autopilot = Autopilot(tenant, RATES)
    count_quiet_tenant(tenant, FixedShards(1), counted)
    simulate(tenant, autopilot, RATES, simulated, RandomSources.from_seed("1"))
    assert simulated.requests == pytest.approx(counted.requests, rel=0.02)
    assert (simulated.throttled, autopilot.read_shards) == (0, 1)


@pytest.fixture(scope="module")
def outcomes() -> dict[tuple[str, float], Outcome]:
    all_outcomes = run_all(SMALL_RUN, population(SMALL_RUN), (300.0, 1.0))
    return {(one.policy, one.burst_seconds): one for one in all_outcomes}


def test_every_policy_gets_the_same_number_of_requests(outcomes: dict[tuple[str, float], Outcome]) -> None:
    first, *others = [one.requests for one in outcomes.values()]
    assert others == [pytest.approx(first)] * 5


def test_the_throttled_requests_are_the_sum_over_all_steps(outcomes: dict[tuple[str, float], Outcome]) -> None:
    for one in outcomes.values():
        assert sum(one.throttled_by_step) == pytest.approx(one.throttled)
        assert one.throttled_at_max_shards + one.throttled_below_max_shards <= one.throttled + 1e-6


def test_shards_are_counted_for_every_tenant(outcomes: dict[tuple[str, float], Outcome]) -> None:
    assert outcomes["fixed N=1", 1.0].shards == SMALL_RUN.tenants
    assert outcomes["fixed N=10", 1.0].shards == 10 * SMALL_RUN.tenants
    autopilot = outcomes["autopilot", 1.0]
    assert SMALL_RUN.tenants < autopilot.shards < 1.1 * SMALL_RUN.tenants
    assert 0 < autopilot.tenants_with_several_shards <= autopilot.simulated_tenants


def test_more_shards_throttle_less_and_cost_more_read_units(outcomes: dict[tuple[str, float], Outcome]) -> None:
    for burst_seconds in (300.0, 1.0):
        one, ten, autopilot = (outcomes[policy, burst_seconds] for policy in POLICIES)
        assert one.throttled_share > autopilot.throttled_share
        assert one.throttled_share > ten.throttled_share
        assert one.extra_read_units == 0 < autopilot.extra_read_units < ten.extra_read_units
        assert autopilot.extra_read_units_of_quiet_tenants == 0 < ten.extra_read_units_of_quiet_tenants


def test_the_cost_is_the_price_of_the_units_over_a_month() -> None:
    outcome = Outcome(policy="x", seconds=600, burst_seconds=1, requests=2e6, read_units=1e6, write_units=1e6)
    assert float(outcome.usd_a_month()) == pytest.approx((0.125 + 0.625) * 30 * 86_400 / 600)
    assert float(outcome.usd_a_billion()) == pytest.approx(0.75 * 500)


def test_the_same_seed_gives_the_same_outcome_and_another_seed_another_one() -> None:
    def result(seed: int) -> dict[str, object]:
        parameters = RunParameters(tenants=1_500, seconds=100, writes=20_000, seed=seed)
        return asdict(run(parameters, population(parameters), "autopilot", RATES))

    assert result(1) == result(1)
    assert result(1) != result(2)


def test_a_very_hot_tenant_gets_as_many_shards_as_its_tier_allows() -> None:
    for tier in Tier:
        tenant = Tenant(tier=tier, average_writes=0, max_writes=1e9, hot_writes=200_000, hot_at=0)
        autopilot = Autopilot(tenant, RATES)
        simulate(tenant, autopilot, RATES, new_outcome("autopilot", 120, RATES))
        assert autopilot.write_shards == AUTOPILOT_MAX_SHARDS[tier]


def test_new_shards_are_written_one_settle_time_after_they_are_read() -> None:
    autopilot = Autopilot(Tenant(tier=Tier.PREMIUM, average_writes=0, max_writes=1e9), RATES)
    shards_by_second = []
    for second in range(60):
        autopilot.observe(second, 5_000, 0)
        shards_by_second.append((autopilot.read_shards, autopilot.write_shards))
    assert shards_by_second[8:10] == [(1, 1), (10, 1)]
    assert shards_by_second[38:40] == [(10, 1), (10, 10)]
    assert shards_by_second[-1] == (10, 10)


def test_traffic_by_rank_follows_zipfs_law() -> None:
    tenants = population(RunParameters(tenants=1_000, writes=1_000))
    assert sum(tenant.average_writes for tenant in tenants) == pytest.approx(1_000)
    assert tenants[0].average_writes / tenants[99].average_writes == pytest.approx(100)
