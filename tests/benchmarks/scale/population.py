"""The tenants of a run: a few large ones, very many small ones, and some that become hot."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

from keyfence.tenancy.tier_quotas import TIER_QUOTAS, Tier
from tests.benchmarks.scale.tenant import Tenant

UNITS_PER_WRITE = 2
"""One write unit for the item and one for its index entry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunParameters:
    """The parameters of a run. The same parameters give the same results."""

    tenants: int = 100_000
    seconds: int = 600
    seed: int = 1
    zipf_exponent: float = 1.0
    """The traffic of a tenant is proportional to its rank to the power of minus this number."""
    writes: float = 60_000.0
    """The items that all tenants together write in a second."""
    bursting_share: float = 1 / 3
    """The share of tenants that have a burst."""


@dataclass(frozen=True, slots=True)
class HotTenants:
    """How many tenants of a tier become hot, and the range of their additional writes a second."""

    tier: Tier
    tenants: int
    min_writes: float
    max_writes: float
    has_larger_quota: bool = False
    """Whether their quota was raised by agreement, so that it lets `max_writes` through."""


LAST_RANKS = {Tier.ENTERPRISE: 20, Tier.PREMIUM: 1_000, Tier.STANDARD: 30_000, Tier.FREE: 10**9}
"""The last rank of each tier. Rank 1 has the most traffic."""

HOT_TENANTS = (
    HotTenants(Tier.ENTERPRISE, 2, 8_000, 12_000),
    HotTenants(Tier.PREMIUM, 10, 1_200, 2_400),
    HotTenants(Tier.STANDARD, 2, 3_000, 5_000, has_larger_quota=True),
)
"""The hot tenants of STANDARD have more traffic than the shards of their tier can take."""


def population(parameters: RunParameters) -> list[Tenant]:
    random = Random(parameters.seed)
    tenants = list(_usual_tenants(parameters, random))
    for group in HOT_TENANTS:
        ranks = [rank for rank, tenant in enumerate(tenants) if tenant.tier is group.tier]
        for rank in random.sample(ranks, min(group.tenants, len(ranks))):
            tenants[rank] = _hot_tenant(tenants[rank], group, parameters, random)
    return tenants


def _usual_tenants(parameters: RunParameters, random: Random) -> Iterator[Tenant]:
    weights = [rank**-parameters.zipf_exponent for rank in range(1, parameters.tenants + 1)]
    total_weight = sum(weights)
    for rank, weight in enumerate(weights, 1):
        tier = next(tier for tier, last in LAST_RANKS.items() if rank <= last)
        has_burst = random.random() < parameters.bursting_share
        yield Tenant(
            tier=tier,
            average_writes=parameters.writes * weight / total_weight,
            max_writes=TIER_QUOTAS[tier].write_units_per_second / UNITS_PER_WRITE,
            day_phase=random.random(),
            burst_at=random.randrange(parameters.seconds) if has_burst else None,
        )


def _hot_tenant(tenant: Tenant, group: HotTenants, parameters: RunParameters, random: Random) -> Tenant:
    """Returns the tenant with additional writes, from a random second in the middle half of the run."""
    hot_writes = random.uniform(group.min_writes, group.max_writes)
    max_writes = max(tenant.max_writes, group.max_writes) if group.has_larger_quota else tenant.max_writes
    hot_at = random.randrange(parameters.seconds // 4, parameters.seconds * 3 // 4)
    return replace(tenant, max_writes=max_writes, hot_writes=hot_writes, hot_at=hot_at)
