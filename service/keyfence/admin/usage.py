"""The usage of tenants and hot partitions in the operators' API."""

from datetime import datetime
from typing import Annotated

import strawberry

from keyfence.admin.context import Info
from keyfence.graphql.relay_types import page_size
from keyfence.hot_partitions import fleet_traffic
from keyfence.tenancy.repository import parse_tenant_id
from keyfence.usage import hourly_usage
from keyfence.usage.hourly_usage import CONTROL_PLANE, PriceTable, UsageCounts
from keyfence_iam.tenant import TenantId


@strawberry.type(description="The usage of one operation.")
class OperationUsage:
    operation: str = strawberry.field(
        description="The root field of the requests; `several` for requests with several root fields, `unknown` for "
        "refused and malformed requests, and `outside` for the calls of jobs and commands."
    )
    requests: int = strawberry.field(description="Requests that were served.")
    read_units: float
    write_units: float
    throttled: int = strawberry.field(description="Requests that were refused because of a quota.")
    throttled_calls: int = strawberry.field(description="Calls that DynamoDB throttled.")
    cost_usd: float

    @classmethod
    def of(cls, operation: str, counts: UsageCounts, prices: PriceTable) -> "OperationUsage":
        return cls(
            operation=operation,
            requests=counts.requests,
            read_units=float(counts.read_units),
            write_units=float(counts.write_units),
            throttled=counts.refused,
            throttled_calls=counts.throttled_calls,
            cost_usd=float(prices.cost(counts.read_units, counts.write_units)),
        )


@strawberry.type(description="The usage of a tenant in whole hours.")
class Usage:
    tenant: strawberry.ID
    from_: datetime = strawberry.field(name="from", description="The beginning of the first hour.")
    to: datetime = strawberry.field(description="The end of the last hour.")
    requests: int = strawberry.field(description="Requests that were served.")
    read_units: float
    write_units: float
    throttled: int = strawberry.field(description="Requests that were refused because of a quota.")
    throttled_calls: int = strawberry.field(description="Calls that DynamoDB throttled.")
    cost_usd: float
    operations: list[OperationUsage]

    @classmethod
    def of(cls, usage: hourly_usage.Usage, prices: PriceTable) -> "Usage":
        total = OperationUsage.of("", usage.total, prices)
        return cls(
            tenant=strawberry.ID(usage.tenant),
            from_=usage.start,
            to=usage.end,
            requests=total.requests,
            read_units=total.read_units,
            write_units=total.write_units,
            throttled=total.throttled,
            throttled_calls=total.throttled_calls,
            cost_usd=total.cost_usd,
            operations=[OperationUsage.of(name, counts, prices) for name, counts in usage.operations.items()],
        )


@strawberry.type
class UsageQueries:
    @strawberry.field(
        description="The usage of a tenant in all hours that overlap the time from `from` to `to`. The tenant `-` is "
        "the service itself."
    )
    async def usage(
        self,
        info: Info,
        tenant: strawberry.ID,
        start: Annotated[datetime, strawberry.argument(name="from")],
        to: datetime,
    ) -> Usage:
        tenant_id = TenantId(tenant)
        if tenant_id != CONTROL_PLANE:
            tenant_id = (await info.context.tenants.get(parse_tenant_id(tenant, "tenant"))).id
        return Usage.of(await info.context.usage.sum_hours(tenant_id, start, to), info.context.prices)


@strawberry.type(description="A partition that was near its limit or over it in the last minute.")
class HotPartition:
    tenant: strawberry.ID = strawberry.field(description="The id of the tenant, or `-` for the service itself.")
    collection: str = strawberry.field(
        description="The collection whose shard the partition is. Empty if the partition is not a shard."
    )
    table: str = strawberry.field(description="The name of the table. A tenant that is being moved has two tables.")
    index: str = strawberry.field(description="`table`, or the index of the partition: `GSI1`, `GSI2` or `GSI3`.")
    partition: str = strawberry.field(description="The partition key.")
    read_units_per_second: float = strawberry.field(
        description="Read units per second in the busiest 10 seconds, including those of throttled calls."
    )
    write_units_per_second: float = strawberry.field(
        description="Write units per second in the busiest 10 seconds, including those of throttled calls."
    )
    throttled: int = strawberry.field(description="Calls, or items of batch calls, that DynamoDB throttled.")
    recommended_shards: int = strawberry.field(
        description="The smallest number of shards that can serve the peak of the collection."
    )

    @classmethod
    def of(cls, hot_partition: fleet_traffic.HotPartition) -> "HotPartition":
        load = hot_partition.load
        return cls(
            tenant=strawberry.ID(load.partition.tenant),
            collection=load.collection,
            table=load.partition.table,
            index=load.partition.index_name,
            partition=load.partition.key,
            read_units_per_second=load.read_units_per_second,
            write_units_per_second=load.write_units_per_second,
            throttled=load.throttled,
            recommended_shards=hot_partition.recommended_shards,
        )


@strawberry.type
class HotPartitionQueries:
    @strawberry.field(description="The hot partitions in the traffic of all servers together, the hottest first.")
    async def hot_partitions(self, info: Info, first: int | None = 20) -> list[HotPartition]:
        hottest = await info.context.hot_partitions.hottest(first=page_size(first))
        return [HotPartition.of(hot_partition) for hot_partition in hottest]
