"""Hot partitions as operators see them."""

import strawberry

from keyfence.admin.context import Info
from keyfence.graphql.paging import size
from keyfence.traffic import hot_partition


@strawberry.type(description="A partition near its limit, or beyond it, in the last minute.")
class HotPartition:
    """What is asked of it, and what may help."""

    tenant: strawberry.ID = strawberry.field(description="`-` is the service itself.")
    collection: str = strawberry.field(description="Of those that have slots; empty for a partition of another kind.")
    table: str = strawberry.field(description="A tenant that is being moved has two.")
    index: str = strawberry.field(description="Where it is a partition: `table`, `GSI1`, `GSI2` or `GSI3`.")
    partition: str
    read_units_per_second: float = strawberry.field(description="Asked for, also in vain, in the busiest 10 seconds.")
    write_units_per_second: float
    throttled: int = strawberry.field(description="Calls, or parts of them, that DynamoDB turned away.")
    recommended_shards: int = strawberry.field(description="The fewest slots that carry the collection's peak.")

    @classmethod
    def of(cls, hot: hot_partition.HotPartition) -> "HotPartition":
        spot = hot.spot
        return cls(
            tenant=strawberry.ID(spot.place.tenant),
            collection=spot.collection,
            table=spot.place.table,
            index=spot.place.where,
            partition=spot.place.partition,
            read_units_per_second=spot.read,
            write_units_per_second=spot.write,
            throttled=spot.throttled,
            recommended_shards=hot.recommended_shards,
        )


@strawberry.type
class HotPartitionQueries:
    """Questions about traffic."""

    @strawberry.field(description="Of all servers together, the hottest first.")
    async def hot_partitions(self, info: Info, first: int | None = 20) -> list[HotPartition]:
        return [HotPartition.of(one) for one in await info.context.hot.hottest(first=size(first))]
