"""The hottest partitions of the fleet, as operators ask for them."""

from collections.abc import Mapping
from dataclasses import dataclass

from keyfence.store.pagination import checked_size
from keyfence.store.shards import ONE
from keyfence.store.table import Table
from keyfence.tenancy.access import tenant_by_id
from keyfence.tenancy.model import Tenant
from keyfence.traffic.hottest import WARM, Hot
from keyfence.traffic.need import Need, needs
from keyfence.traffic.place import Place
from keyfence.traffic.repository import FleetTraffic
from keyfence.traffic.spot import Spot
from keyfence_iam.boundary import TenantId


@dataclass(frozen=True, slots=True, kw_only=True)
class HotPartition:
    """A partition, what is asked of it, and how many slots its collection should have: one, where it has none."""

    spot: Spot
    recommended_shards: int


@dataclass(frozen=True, slots=True)
class HotPartitions:
    """Read for every question: nobody keeps it."""

    table: Table
    fleet: FleetTraffic

    async def hottest(self, *, first: int) -> list[HotPartition]:
        """By the share of its limit that each uses, and of equals those first that turned more away."""
        checked_size(first)
        hot = await self.fleet.hot()
        spots = sorted(filter(_is_hot, hot.partitions), key=_rank)[:first]
        tenants, wanted = await self._tenants(spots), _needs(hot)
        return [HotPartition(spot=spot, recommended_shards=_shards(spot, tenants, wanted)) for spot in spots]

    async def _tenants(self, spots: list[Spot]) -> Mapping[TenantId, Tenant]:
        sharded = sorted({spot.place.tenant for spot in spots if spot.collection})
        found = await self.table.find_many(tenant_by_id, [{"id": tenant} for tenant in sharded]) if sharded else []
        return {tenant.id: tenant for tenant in found if tenant}


def _is_hot(spot: Spot) -> bool:
    return spot.share >= WARM or spot.throttled > 0


def _rank(spot: Spot) -> tuple[float, int, Place]:
    return -spot.share, -spot.throttled, spot.place


def _needs(hot: Hot) -> Mapping[tuple[TenantId, str], Need]:
    return {(one.tenant, one.collection): one for one in needs(hot.lists)}


def _shards(spot: Spot, tenants: Mapping[TenantId, Tenant], wanted: Mapping[tuple[TenantId, str], Need]) -> int:
    tenant, need = tenants.get(spot.place.tenant), wanted.get((spot.place.tenant, spot.collection))
    current = tenant.shards.get(spot.collection, ONE).read_shards if tenant else 1
    return need.least(current) if need else current
