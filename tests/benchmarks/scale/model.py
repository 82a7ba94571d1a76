"""Runs the model. Tenants near a limit are simulated second by second, all others are counted by formulas."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random

from keyfence.hot_partitions.shard_recommendation import AUTOPILOT_MAX_SHARDS
from keyfence_iam.gate.throughput.partition_rates import PartitionRates
from tests.benchmarks.scale.outcome import STEP_SECONDS, Outcome
from tests.benchmarks.scale.population import UNITS_PER_WRITE, RunParameters
from tests.benchmarks.scale.shard_buckets import ShardBuckets, page_units, query_units
from tests.benchmarks.scale.shard_policies import POLICIES, ShardPolicy
from tests.benchmarks.scale.tenant import Tenant

PAGES_PER_WRITE = 0.5
"""Pages read for each item written."""

SIMULATED_ABOVE = 0.5
"""A tenant that may use more than this share of a limit is simulated. Below it, random variation is never throttled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomSources:
    """Two random generators, so that a tenant's traffic does not depend on its number of shards. None: no variation."""

    traffic: Random | None
    hashes: Random | None

    @classmethod
    def from_seed(cls, seed: str) -> "RandomSources":
        return cls(traffic=Random(f"{seed}/demand"), hashes=Random(f"{seed}/hashes"))


NO_VARIATION = RandomSources(traffic=None, hashes=None)


def run_all(parameters: RunParameters, tenants: Sequence[Tenant], burst_seconds: Iterable[float]) -> list[Outcome]:
    """Runs every policy with each length of burst capacity."""
    return [
        run(parameters, tenants, policy, PartitionRates(burst_seconds=seconds))
        for seconds in burst_seconds
        for policy in POLICIES
    ]


def run(parameters: RunParameters, tenants: Sequence[Tenant], policy_name: str, rates: PartitionRates) -> Outcome:
    outcome = new_outcome(policy_name, parameters.seconds, rates)
    for number, tenant in enumerate(tenants):
        policy = POLICIES[policy_name](tenant, rates)
        if may_reach_limit(tenant, rates):
            simulate(tenant, policy, rates, outcome, RandomSources.from_seed(f"{parameters.seed}/{number}"))
        else:
            count_quiet_tenant(tenant, policy, outcome)
        outcome.shards += policy.write_shards
        outcome.tenants_with_several_shards += policy.read_shards > 1
    return outcome


def new_outcome(policy_name: str, seconds: int, rates: PartitionRates) -> Outcome:
    steps = -(-seconds // STEP_SECONDS)
    return Outcome(
        policy=policy_name,
        seconds=seconds,
        burst_seconds=rates.burst_seconds,
        requests_by_step=[0.0] * steps,
        throttled_by_step=[0.0] * steps,
    )


def may_reach_limit(tenant: Tenant, rates: PartitionRates) -> bool:
    """Returns whether the tenant may exceed its quota, or come near a limit of one shard."""
    writes_at_read_limit = rates.read / (PAGES_PER_WRITE * query_units(1))
    near_limit = SIMULATED_ABOVE * min(rates.write, writes_at_read_limit)
    return tenant.highest_writes > min(tenant.max_writes, near_limit)


def count_quiet_tenant(tenant: Tenant, policy: ShardPolicy, outcome: Outcome) -> None:
    """Adds the traffic of a tenant that is never throttled and never grows."""
    writes = tenant.total_writes(outcome.seconds)
    extra_before = outcome.extra_read_units
    _count_served(outcome, writes, writes * PAGES_PER_WRITE, policy.read_shards)
    outcome.extra_read_units_of_quiet_tenants += outcome.extra_read_units - extra_before


def simulate(
    tenant: Tenant,
    policy: ShardPolicy,
    rates: PartitionRates,
    outcome: Outcome,
    random_sources: RandomSources = NO_VARIATION,
) -> None:
    """Adds the traffic of a tenant, second by second."""
    first_writes = tenant.writes(0)
    shards = ShardBuckets(rates, policy.write_shards, first_writes, first_writes * PAGES_PER_WRITE)
    throttled_before = throttled_until_growth = outcome.throttled
    for second in range(outcome.seconds):
        shards.grow(policy.write_shards, second)
        requested = _vary(tenant.writes(second), random_sources.traffic)
        pages = requested * PAGES_PER_WRITE
        written = shards.write(_spread(requested, len(shards), random_sources.hashes), second)
        read = shards.read(pages, policy.read_shards, second)
        _count_served(outcome, written, read, policy.read_shards)
        outcome.requests_by_step[second // STEP_SECONDS] += requested + pages
        _count_throttled(outcome, second, max(0.0, requested - written), max(0.0, pages - read))
        policy.observe(second, requested, pages)
        if policy.write_shards < policy.read_shards:
            throttled_until_growth = outcome.throttled
    outcome.simulated_tenants += 1
    outcome.tenants_throttled += outcome.throttled - throttled_before >= 1
    if policy.write_shards >= AUTOPILOT_MAX_SHARDS[tenant.tier]:
        outcome.throttled_at_max_shards += outcome.throttled - throttled_until_growth
    else:
        outcome.throttled_below_max_shards += outcome.throttled - throttled_until_growth


def _count_served(outcome: Outcome, writes: float, pages: float, read_shards: int) -> None:
    outcome.requests += writes + pages
    outcome.write_units += writes * UNITS_PER_WRITE
    outcome.read_units += pages * page_units(read_shards)
    outcome.extra_read_units += pages * (page_units(read_shards) - page_units(1))


def _count_throttled(outcome: Outcome, second: int, writes: float, pages: float) -> None:
    outcome.requests += writes + pages
    outcome.throttled_writes += writes
    outcome.throttled_pages += pages
    outcome.throttled_by_step[second // STEP_SECONDS] += writes + pages


def _vary(expected: float, random: Random | None) -> float:
    """Returns a random number of requests with this expected value, as from a Poisson distribution."""
    return expected if random is None else max(0.0, random.gauss(expected, expected**0.5))


def _spread(writes: float, shards: int, random: Random | None) -> list[float]:
    """Spreads the writes over the shards as hashes do: almost evenly."""
    weights = [_vary(writes / shards, random) for _ in range(shards)] if shards > 1 else [1.0]
    total_weight = sum(weights) or 1.0
    return [writes * weight / total_weight for weight in weights]
