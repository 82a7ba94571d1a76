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
"""A collection should grow if calls request more than this share of its shards' limits."""

GROW_TO = 0.5
"""The share of the limits that calls request after growth.

It is well below GROW_AT, so that a slow rise of traffic does not cause the next growth soon."""

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
    """Returns the fewest shards that can serve the peak, if the traffic is spread evenly.

    `limit` is the number of units a second that one shard can serve."""
    return max(1, ceil(peak_units_per_second / limit))


def recommended_shards(peak_units_per_second: float, limit: float, current: int) -> int:
    """Returns the current number of shards if it is enough, otherwise a higher number. It is never lower.

    The peak must count requested units, also those of throttled calls. Consumed units would not show that more shards
    are needed, because a shard cannot consume more than its limit."""
    if peak_units_per_second <= GROW_AT * current * limit:
        return current
    return max(current, min_shards(peak_units_per_second, GROW_TO * limit))


def recommended_for_reads(peak_units_per_second: float, limit: float, current: int, units_per_query: float) -> int:
    """Returns `recommended_shards`, but at most the number of shards up to which each further shard reduces the cost of
    a Query.

    A page of a list is read by one Query for each shard, which returns a part of the page. With more shards a Query
    returns fewer items. But a Query that already has the minimum cost does not get cheaper: twice the shards would then
    consume twice the units, and growth would cause growth."""
    max_useful_shards = current * max(1, int(units_per_query / MIN_QUERY_UNITS))
    return min(max_useful_shards, recommended_shards(peak_units_per_second, limit, current))


def capped_by_tier(tier: Tier, current: int, recommended: int) -> int:
    """Returns the number of shards that the autopilot may set.

    An operator can set more shards than the tier allows the autopilot. These shards stay."""
    return max(current, min(recommended, AUTOPILOT_MAX_SHARDS[tier]))


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionPeak:
    """The peak traffic of a tenant's collection: units a second of its busiest list, over all shards of that list."""

    tenant: TenantId
    collection: str
    read_units_per_second: float
    write_units_per_second: float
    units_per_read: float
    max_shards: int
    """The highest number of shards that the collection can have."""

    @classmethod
    def from_load(cls, load: PartitionLoad, max_shards: int) -> "CollectionPeak":
        return cls(
            tenant=load.partition.tenant,
            collection=load.collection,
            read_units_per_second=load.read_units_per_second,
            write_units_per_second=load.write_units_per_second,
            units_per_read=load.units_per_read,
            max_shards=max_shards,
        )

    def min_shards(self, current: int) -> int:
        """Returns the fewest shards that can serve the peak, and never fewer than the current number."""
        for_writes = min_shards(self.write_units_per_second, PARTITION_WRITE_UNITS)
        for_reads = min(
            min_shards(self.read_units_per_second, PARTITION_READ_UNITS), self._recommended_for_reads(current)
        )
        return min(self.max_shards, max(current, for_writes, for_reads))

    def recommended_shards(self, current: int) -> int:
        """Returns the number of shards that serve the peak and leave room for growth."""
        for_writes = recommended_shards(self.write_units_per_second, PARTITION_WRITE_UNITS, current)
        return min(self.max_shards, max(for_writes, self._recommended_for_reads(current)))

    def _recommended_for_reads(self, current: int) -> int:
        return recommended_for_reads(self.read_units_per_second, PARTITION_READ_UNITS, current, self.units_per_read)

    @property
    def event_detail(self) -> dict[str, object]:
        """The peak of reads or of writes, whichever is nearer to its limit, for the detail of an event."""
        write_share = self.write_units_per_second / PARTITION_WRITE_UNITS
        read_share = self.read_units_per_second / PARTITION_READ_UNITS
        if write_share >= read_share:
            return {"peak": self.write_units_per_second, "units": "write"}
        return {"peak": self.read_units_per_second, "units": "read"}


def collection_peaks(lists: Iterable[PartitionLoad], collections: ShardedCollections) -> list[CollectionPeak]:
    """Returns one peak for each collection of each tenant. Each number is the highest of the collection's lists."""
    peaks: dict[tuple[TenantId, str], CollectionPeak] = {}
    for load in lists:
        peak = CollectionPeak.from_load(load, collections.max_shards(load.collection))
        key = (peak.tenant, peak.collection)
        highest = peaks.get(key, peak)
        most_read = peak if peak.read_units_per_second >= highest.read_units_per_second else highest
        peaks[key] = CollectionPeak(
            tenant=peak.tenant,
            collection=peak.collection,
            read_units_per_second=most_read.read_units_per_second,
            write_units_per_second=max(peak.write_units_per_second, highest.write_units_per_second),
            units_per_read=most_read.units_per_read,
            max_shards=peak.max_shards,
        )
    return list(peaks.values())
