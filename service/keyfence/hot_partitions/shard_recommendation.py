"""How many shards a collection should have for its peak traffic."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import ceil

from keyfence.hot_partitions.partition_load import PartitionLoad
from keyfence.store.shards import MAX_SHARDS, ShardedCollections
from keyfence.tenancy.tier_quotas import Tier
from keyfence_iam.dynamodb.capacity import PARTITION_READ_UNITS, PARTITION_WRITE_UNITS
from keyfence_iam.tenant import TenantId

GROW_AT = 0.7
"""A collection should grow if more than this share of its shards' limits is requested."""

GROW_TO = 0.5
"""The share that is requested after growth. It is well below GROW_AT, so that the next growth is not soon."""

MIN_QUERY_UNITS = 0.5
"""Read units that a Query costs, however few items it returns."""

AUTOPILOT_MAX_SHARDS: Mapping[Tier, int] = {
    Tier.FREE: 1,
    Tier.STANDARD: 4,
    Tier.PREMIUM: 32,
    Tier.ENTERPRISE: MAX_SHARDS,
}
"""The number of shards up to which a collection may grow without an operator."""


def min_shards(peak_units_per_second: float, limit: float) -> int:
    """Return the fewest shards that can serve the peak, if it is spread evenly."""
    return max(1, ceil(peak_units_per_second / limit))


def recommended_shards(peak_units_per_second: float, limit: float, current: int) -> int:
    """Return the current number while it is enough, otherwise a higher one, and never a lower one.

    The peak counts requested units, also those of throttled calls. A full shard consumes its limit and no more, so that
    consumed units would never show that it is too small."""
    if peak_units_per_second <= GROW_AT * current * limit:
        return current
    return max(current, min_shards(peak_units_per_second, GROW_TO * limit))


def recommended_for_reads(peak_units_per_second: float, limit: float, current: int, units_per_query: float) -> int:
    """As `recommended_shards`, but not more than make reads cheaper for each shard.

    A list queries every shard for its share of a page. At the minimum cost of a Query, twice the shards are twice the
    units: without this bound growth would cause more growth."""
    useful = current * max(1, int(units_per_query / MIN_QUERY_UNITS))
    return min(useful, recommended_shards(peak_units_per_second, limit, current))


def capped_by_tier(tier: Tier, current: int, recommended: int) -> int:
    """Return the number of shards that the autopilot may set. It never takes shards away that an operator gave."""
    return max(current, min(recommended, AUTOPILOT_MAX_SHARDS[tier]))


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardNeed:
    """The peak of a tenant's collection: units a second of its busiest list, all shards of the list together."""

    tenant: TenantId
    collection: str
    read: float
    write: float
    units_per_read: float
    max_shards: int

    @classmethod
    def of(cls, load: PartitionLoad, max_shards: int) -> "ShardNeed":
        return cls(
            tenant=load.partition.tenant,
            collection=load.collection,
            read=load.read,
            write=load.write,
            units_per_read=load.units_per_read,
            max_shards=max_shards,
        )

    def minimum(self, current: int) -> int:
        """Return the fewest shards that can serve the peak, and never fewer than the current number."""
        reads = recommended_for_reads(self.read, PARTITION_READ_UNITS, current, self.units_per_read)
        return min(
            self.max_shards,
            max(
                current,
                min_shards(self.write, PARTITION_WRITE_UNITS),
                min(reads, min_shards(self.read, PARTITION_READ_UNITS)),
            ),
        )

    def recommended(self, current: int) -> int:
        """Return the recommended number of shards, with room for growth."""
        reads = recommended_for_reads(self.read, PARTITION_READ_UNITS, current, self.units_per_read)
        return min(self.max_shards, max(recommended_shards(self.write, PARTITION_WRITE_UNITS, current), reads))

    @property
    def peak(self) -> dict[str, object]:
        """The higher of both peaks, in relation to its limit, as the details of an event."""
        is_write = self.write / PARTITION_WRITE_UNITS >= self.read / PARTITION_READ_UNITS
        return {"peak": self.write if is_write else self.read, "units": "write" if is_write else "read"}


def shard_needs(lists: Iterable[PartitionLoad], collections: ShardedCollections) -> list[ShardNeed]:
    """Return one need for each collection of each tenant: the peaks of its busiest lists."""
    needs: dict[tuple[TenantId, str], ShardNeed] = {}
    for load in lists:
        need = ShardNeed.of(load, collections.max_shards(load.collection))
        key = (need.tenant, need.collection)
        known = needs.get(key, need)
        needs[key] = ShardNeed(
            tenant=need.tenant,
            collection=need.collection,
            read=max(need.read, known.read),
            write=max(need.write, known.write),
            units_per_read=(need if need.read >= known.read else known).units_per_read,
            max_shards=need.max_shards,
        )
    return list(needs.values())
