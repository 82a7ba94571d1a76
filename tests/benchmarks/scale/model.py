"""Runs the model: tenants near a limit are simulated second by second, all others by closed formulas."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random

from keyfence.hot_partitions.shard_recommendation import AUTOPILOT_MAX_SHARDS
from keyfence_iam.gate.throughput.partition_buckets import PartitionRates
from tests.benchmarks.scale.outcome import STEP, Outcome
from tests.benchmarks.scale.policy import POLICIES, Policy
from tests.benchmarks.scale.population import UNITS_OF_A_WRITE, World
from tests.benchmarks.scale.slots import Slots, page_units, query_units
from tests.benchmarks.scale.tenant import Tenant

PAGES_OF_A_WRITE = 0.5
"""Pages read for each item written."""

NEAR = 0.5
"""A tenant above this share of a limit is simulated by seconds. Random variation does not fill the limit below it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chances:
    """Two random generators, so that a tenant's traffic does not depend on its number of shards."""

    demand: Random | None
    hashes: Random | None

    @classmethod
    def of(cls, seed: str) -> "Chances":
        return cls(demand=Random(f"{seed}/demand"), hashes=Random(f"{seed}/hashes"))


EVEN = Chances(demand=None, hashes=None)


def run(world: World, tenants: Sequence[Tenant], policy: str, rates: PartitionRates) -> Outcome:
    outcome = begun(policy, world.seconds, rates)
    for number, tenant in enumerate(tenants):
        given = POLICIES[policy](tenant, rates)
        if is_near(tenant, rates):
            step(tenant, given, rates, outcome, Chances.of(f"{world.seed}/{number}"))
        else:
            close(tenant, given, outcome)
        outcome.slots += given.write_slots
        outcome.tenants_widened += given.read_slots > 1
    return outcome


def begun(policy: str, seconds: int, rates: PartitionRates) -> Outcome:
    steps = -(-seconds // STEP)
    return Outcome(
        policy=policy,
        seconds=seconds,
        burst_seconds=rates.burst_seconds,
        asked_by_step=[0.0] * steps,
        throttled_by_step=[0.0] * steps,
    )


def is_near(tenant: Tenant, rates: PartitionRates) -> bool:
    reads = rates.read / (PAGES_OF_A_WRITE * query_units(1))
    return tenant.highest > min(tenant.most, NEAR * min(rates.write, reads))


def close(tenant: Tenant, given: Policy, outcome: Outcome) -> None:
    """Nothing is throttled, and the number of shards stays."""
    writes = tenant.total(outcome.seconds)
    before = outcome.extra_read_units
    _count(outcome, writes, writes * PAGES_OF_A_WRITE, given.read_slots)
    outcome.extra_of_quiet += outcome.extra_read_units - before


def step(tenant: Tenant, given: Policy, rates: PartitionRates, outcome: Outcome, chances: Chances = EVEN) -> None:
    slots = Slots(rates, given.write_slots, tenant.writes(0), tenant.writes(0) * PAGES_OF_A_WRITE)
    before = settled = outcome.throttled
    for second in range(outcome.seconds):
        slots.widen(given.write_slots, second)
        asked = _noisy(tenant.writes(second), chances.demand)
        pages = asked * PAGES_OF_A_WRITE
        written = slots.write(_spread(asked, len(slots), chances.hashes), second)
        read = slots.read(pages, given.read_slots, second)
        _count(outcome, written, read, given.read_slots)
        outcome.asked_by_step[second // STEP] += asked + pages
        _turn_away(outcome, second, max(0.0, asked - written), max(0.0, pages - read))
        given.saw(second, asked, pages)
        if given.write_slots < given.read_slots:
            settled = outcome.throttled
    outcome.stepped += 1
    outcome.tenants_throttled += outcome.throttled - before >= 1
    if given.write_slots >= AUTOPILOT_MAX_SHARDS[tenant.tier]:
        outcome.throttled_at_bound += outcome.throttled - settled
    else:
        outcome.throttled_with_slots += outcome.throttled - settled


def _count(outcome: Outcome, writes: float, pages: float, read_slots: int) -> None:
    outcome.requests += writes + pages
    outcome.write_units += writes * UNITS_OF_A_WRITE
    outcome.read_units += pages * page_units(read_slots)
    outcome.extra_read_units += pages * (page_units(read_slots) - page_units(1))


def _turn_away(outcome: Outcome, second: int, writes: float, pages: float) -> None:
    outcome.requests += writes + pages
    outcome.throttled_writes += writes
    outcome.throttled_pages += pages
    outcome.throttled_by_step[second // STEP] += writes + pages


def _noisy(expected: float, chance: Random | None) -> float:
    return expected if chance is None else max(0.0, chance.gauss(expected, expected**0.5))


def _spread(asked: float, slots: int, chance: Random | None) -> list[float]:
    """Spreads the writes over the shards as hashes do."""
    parts = [_noisy(asked / slots, chance) for _ in range(slots)] if slots > 1 else [1.0]
    whole = sum(parts) or 1.0
    return [asked * part / whole for part in parts]


def runs(world: World, tenants: Sequence[Tenant], bursts: Iterable[float]) -> list[Outcome]:
    return [
        run(world, tenants, policy, PartitionRates(burst_seconds=seconds)) for seconds in bursts for policy in POLICIES
    ]
