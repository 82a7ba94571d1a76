"""The tenants of a run: a few large ones, very many small ones, and some that become hot."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

from keyfence.tenancy.tier_quotas import TIER_QUOTAS, Tier
from tests.benchmarks.scale.tenant import Tenant

UNITS_OF_A_WRITE = 2
"""One unit for the item and one for its index entry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """`writes` items a second are written by all tenants together, by rank to the power of -`exponent`."""

    tenants: int = 100_000
    seconds: int = 600
    seed: int = 1
    exponent: float = 1.0
    writes: float = 60_000.0
    bursting: float = 1 / 3


@dataclass(frozen=True, slots=True)
class Heat:
    """How many tenants of a tier become hot, and their range of items a second."""

    tier: Tier
    tenants: int
    fewest: float
    most: float
    agreed: bool = False


RANKS = {Tier.ENTERPRISE: 20, Tier.PREMIUM: 1_000, Tier.STANDARD: 30_000, Tier.FREE: 10**9}
"""The last rank of each tier."""

HEATS = (
    Heat(Tier.ENTERPRISE, 2, 8_000, 12_000),
    Heat(Tier.PREMIUM, 10, 1_200, 2_400),
    Heat(Tier.STANDARD, 2, 3_000, 5_000, agreed=True),
)
"""Tenants of STANDARD have a larger agreed quota, and more traffic than the shards of their tier can take."""


def population(world: World) -> list[Tenant]:
    chance = Random(world.seed)
    tenants = list(_tenants(world, chance))
    for heat in HEATS:
        ranks = [rank for rank, tenant in enumerate(tenants) if tenant.tier is heat.tier]
        for rank in chance.sample(ranks, min(heat.tenants, len(ranks))):
            tenants[rank] = _heated(tenants[rank], heat, world, chance)
    return tenants


def _tenants(world: World, chance: Random) -> Iterator[Tenant]:
    shares = [rank**-world.exponent for rank in range(1, world.tenants + 1)]
    whole = sum(shares)
    for rank, share in enumerate(shares, 1):
        tier = next(tier for tier, last in RANKS.items() if rank <= last)
        bursts = chance.random() < world.bursting
        yield Tenant(
            tier=tier,
            base=world.writes * share / whole,
            most=TIER_QUOTAS[tier].write_units_per_second / UNITS_OF_A_WRITE,
            phase=chance.random(),
            burst_at=chance.randrange(world.seconds) if bursts else None,
        )


def _heated(tenant: Tenant, heat: Heat, world: World, chance: Random) -> Tenant:
    hot = chance.uniform(heat.fewest, heat.most)
    most = max(tenant.most, heat.most) if heat.agreed else tenant.most
    return replace(tenant, most=most, hot=hot, hot_at=chance.randrange(world.seconds // 4, world.seconds * 3 // 4))
