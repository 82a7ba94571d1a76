"""Tenants that are not stepped come out as if they were, and the sums of all policies are of the same traffic."""

from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as some

from keyfence.hot_partitions.shard_recommendation import AUTOPILOT_MAX_SHARDS
from keyfence.tenancy.tier_quotas import Tier
from keyfence_iam.gate.throughput.partition_buckets import PartitionRates
from tests.benchmarks.scale.model import Chances, begun, close, is_near, run, runs, step
from tests.benchmarks.scale.outcome import Outcome
from tests.benchmarks.scale.policy import POLICIES, Autopilot, Fixed
from tests.benchmarks.scale.population import World, population
from tests.benchmarks.scale.tenant import Tenant

RATES = PartitionRates(burst_seconds=1)
SMALL = World(tenants=3_000, seconds=200, writes=20_000)
FIGURES = ("requests", "read_units", "write_units", "extra_read_units", "throttled_writes", "throttled_pages")

quiet_tenants = some.builds(
    Tenant,
    tier=some.just(Tier.PREMIUM),
    base=some.floats(0, 100),
    most=some.just(2_500.0),
    phase=some.floats(0, 1),
    burst_at=some.none() | some.integers(0, 300),
    hot_at=some.none() | some.integers(0, 300),
    hot=some.floats(0, 100),
)


@given(quiet_tenants, some.integers(1, 300), some.sampled_from(list(POLICIES)))
def test_the_closed_form_agrees_with_stepping(tenant: Tenant, seconds: int, policy: str) -> None:
    assert not is_near(tenant, RATES)
    closed, stepped = begun(policy, seconds, RATES), begun(policy, seconds, RATES)
    close(tenant, POLICIES[policy](tenant, RATES), closed)
    step(tenant, POLICIES[policy](tenant, RATES), RATES, stepped)
    for figure in FIGURES:
        assert getattr(closed, figure) == pytest.approx(getattr(stepped, figure), rel=1e-6, abs=1e-6)


def test_chance_changes_a_quiet_tenants_sums_by_little() -> None:
    tenant = Tenant(tier=Tier.PREMIUM, base=120, most=2_500, phase=0.2, burst_at=50)
    assert not is_near(tenant, RATES)
    closed, stepped = begun("autopilot", 600, RATES), begun("autopilot", 600, RATES)
    pilot = Autopilot(tenant, RATES)
    close(tenant, Fixed(1), closed)
    step(tenant, pilot, RATES, stepped, Chances.of("1"))
    assert stepped.requests == pytest.approx(closed.requests, rel=0.02)
    assert (stepped.throttled, pilot.read_slots) == (0, 1)


@pytest.fixture(scope="module")
def outcomes() -> dict[tuple[str, float], Outcome]:
    found = runs(SMALL, population(SMALL), (300.0, 1.0))
    return {(one.policy, one.burst_seconds): one for one in found}


def test_every_policy_is_asked_for_the_same(outcomes: dict[tuple[str, float], Outcome]) -> None:
    first, *others = [one.requests for one in outcomes.values()]
    assert others == [pytest.approx(first)] * 5


def test_what_is_throttled_is_the_sum_of_its_steps(outcomes: dict[tuple[str, float], Outcome]) -> None:
    for one in outcomes.values():
        assert sum(one.throttled_by_step) == pytest.approx(one.throttled)
        assert one.throttled_at_bound + one.throttled_with_slots <= one.throttled + 1e-6


def test_slots_are_counted_for_every_tenant(outcomes: dict[tuple[str, float], Outcome]) -> None:
    assert outcomes["fixed N=1", 1.0].slots == SMALL.tenants
    assert outcomes["fixed N=10", 1.0].slots == 10 * SMALL.tenants
    pilot = outcomes["autopilot", 1.0]
    assert SMALL.tenants < pilot.slots < 1.1 * SMALL.tenants
    assert 0 < pilot.tenants_widened <= pilot.stepped


def test_more_slots_throttle_less_and_cost_more_reads(outcomes: dict[tuple[str, float], Outcome]) -> None:
    for kept in (300.0, 1.0):
        one, ten, pilot = (outcomes[policy, kept] for policy in POLICIES)
        assert one.share > pilot.share
        assert one.share > ten.share
        assert one.extra_read_units == 0 < pilot.extra_read_units < ten.extra_read_units
        assert pilot.extra_of_quiet == 0 < ten.extra_of_quiet


def test_money_is_the_units_at_the_listed_prices_over_a_month() -> None:
    outcome = Outcome(policy="x", seconds=600, burst_seconds=1, requests=2e6, read_units=1e6, write_units=1e6)
    assert float(outcome.usd_a_month()) == pytest.approx((0.125 + 0.625) * 30 * 86_400 / 600)
    assert float(outcome.usd_a_billion()) == pytest.approx(0.75 * 500)


def test_the_same_seed_gives_the_same_and_another_does_not() -> None:
    def found(seed: int) -> dict[str, object]:
        world = World(tenants=1_500, seconds=100, writes=20_000, seed=seed)
        return asdict(run(world, population(world), "autopilot", RATES))

    assert found(1) == found(1)
    assert found(1) != found(2)


def test_no_tenant_gets_more_slots_than_its_tier_allows() -> None:
    for tier in Tier:
        tenant = Tenant(tier=tier, base=0, most=1e9, hot=200_000, hot_at=0)
        pilot = Autopilot(tenant, RATES)
        step(tenant, pilot, RATES, begun("autopilot", 120, RATES))
        assert pilot.write_slots == AUTOPILOT_MAX_SHARDS[tier]


def test_writes_widen_a_settle_after_reads() -> None:
    pilot = Autopilot(Tenant(tier=Tier.PREMIUM, base=0, most=1e9), RATES)
    seen = []
    for second in range(60):
        pilot.saw(second, 5_000, 0)
        seen.append((pilot.read_slots, pilot.write_slots))
    assert seen[8:10] == [(1, 1), (10, 1)]
    assert seen[38:40] == [(10, 1), (10, 10)]
    assert seen[-1] == (10, 10)


def test_the_shares_of_traffic_are_zipfs() -> None:
    tenants = population(World(tenants=1_000, writes=1_000))
    assert sum(tenant.base for tenant in tenants) == pytest.approx(1_000)
    assert tenants[0].base / tenants[99].base == pytest.approx(100)
