"""How many shards a collection should have."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import ceil

from keyfence.hot_partitions.partition_load import PartitionLoad
from keyfence.store.shards import MAX_SHARDS, ShardedCollections
from keyfence.tenancy.quotas import Tier
from keyfence_iam.dynamodb.capacity import PARTITION_READ_UNITS, PARTITION_WRITE_UNITS
from keyfence_iam.tenant import TenantId

GROW_AT = 0.7
"""Slots that are asked for more than this part of what they carry are too few."""

GROW_TO = 0.5
"""The part that is asked of them after growth. It is less than FULL, so that the next growth is a good way off."""

LEAST_QUERY = 0.5
"""Units that a Query costs however little it finds."""

AUTOPILOT_MAX_SHARDS: Mapping[Tier, int] = {
    Tier.FREE: 1,
    Tier.STANDARD: 4,
    Tier.PREMIUM: 32,
    Tier.ENTERPRISE: MAX_SHARDS,
}
"""So many slots a collection may get without an operator."""


def min_shards(peak_units_per_second: float, limit: float) -> int:
    """The fewest slots that carry the peak, if it falls on all of them alike."""
    return max(1, ceil(peak_units_per_second / limit))


def recommended_shards(peak_units_per_second: float, limit: float, current: int) -> int:
    """As many as there are while they are not full, and never fewer.

    The peak is of what was asked for, also in vain: a full slot gives out its limit and no more, so that what was
    consumed would never say that it is too little."""
    if peak_units_per_second <= GROW_AT * current * limit:
        return current
    return max(current, min_shards(peak_units_per_second, GROW_TO * limit))


def recommended_for_reads(peak_units_per_second: float, limit: float, current: int, units_per_query: float) -> int:
    """A list asks every slot for its part of a page, so that more slots help only while the parts become cheaper.

    Else growth would feed itself: at the least that a Query costs, twice the slots are twice the units."""
    cheaper = current * max(1, int(units_per_query / LEAST_QUERY))
    return min(cheaper, recommended_shards(peak_units_per_second, limit, current))


def capped_by_tier(tier: Tier, current: int, wanted: int) -> int:
    """What of it may be done without an operator; what an operator gave beyond the bound stays."""
    return max(current, min(wanted, AUTOPILOT_MAX_SHARDS[tier]))


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardNeed:
    """Units a second of the busiest list of a collection, all of its slots together."""

    tenant: TenantId
    collection: str
    read: float
    write: float
    units_per_read: float
    max_shards: int

    @classmethod
    def of(cls, spot: PartitionLoad, max_shards: int) -> "ShardNeed":
        return cls(
            tenant=spot.place.tenant,
            collection=spot.collection,
            read=spot.read,
            write=spot.write,
            units_per_read=spot.units_per_read,
            max_shards=max_shards,
        )

    def least(self, current: int) -> int:
        """The fewest slots that would do, and never fewer than there are."""
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
        """With room to spare, and as many as there are while they are not full."""
        reads = recommended_for_reads(self.read, PARTITION_READ_UNITS, current, self.units_per_read)
        return min(self.max_shards, max(recommended_shards(self.write, PARTITION_WRITE_UNITS, current), reads))

    @property
    def peak(self) -> dict[str, object]:
        """What decides."""
        written = self.write / PARTITION_WRITE_UNITS >= self.read / PARTITION_READ_UNITS
        return {"peak": self.write if written else self.read, "units": "write" if written else "read"}


def needs(lists: Iterable[PartitionLoad], collections: ShardedCollections) -> list[ShardNeed]:
    """Slots are a collection's: it needs what that of its lists needs which needs most."""
    found: dict[tuple[TenantId, str], ShardNeed] = {}
    for spot in lists:
        one = ShardNeed.of(spot, collections.max_shards(spot.collection))
        key = (one.tenant, one.collection)
        known = found.get(key, one)
        found[key] = ShardNeed(
            tenant=one.tenant,
            collection=one.collection,
            read=max(one.read, known.read),
            write=max(one.write, known.write),
            units_per_read=(one if one.read >= known.read else known).units_per_read,
            max_shards=one.max_shards,
        )
    return list(found.values())
