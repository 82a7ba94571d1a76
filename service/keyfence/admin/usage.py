"""Usage and hot partitions."""

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


@strawberry.type(description="What one field of the API used: by its name, or `several`, `unknown` and `outside`.")
class OperationUsage:
    """The part of a usage that one operation has."""

    operation: str
    requests: int
    read_units: float
    write_units: float
    throttled: int
    throttled_calls: int
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


@strawberry.type(description="What a tenant used in whole hours.")
class Usage:
    """A total and its parts."""

    tenant: strawberry.ID
    from_: datetime = strawberry.field(name="from", description="The beginning of the first hour.")
    to: datetime = strawberry.field(description="The end of the last hour.")
    requests: int = strawberry.field(description="Served.")
    read_units: float
    write_units: float
    throttled: int = strawberry.field(description="Requests that were refused for a rate.")
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
    """Questions about usage."""

    @strawberry.field(description="Of every hour that the span touches; the tenant `-` is the service itself.")
    async def usage(
        self,
        info: Info,
        tenant: strawberry.ID,
        start: Annotated[datetime, strawberry.argument(name="from")],
        to: datetime,
    ) -> Usage:
        whose = TenantId(tenant)
        if whose != CONTROL_PLANE:
            whose = (await info.context.tenants.get(parse_tenant_id(tenant, "tenant"))).id
        return Usage.of(await info.context.usage.sum_hours(whose, start, to), info.context.prices)


@strawberry.type(description="A partition near its limit, or beyond it, in the last minute.")
class HotPartition:
    """The units that a hot partition needs, and the recommended number of shards."""

    tenant: strawberry.ID = strawberry.field(description="`-` is the service itself.")
    collection: str = strawberry.field(description="The sharded collection; empty for a partition of another kind.")
    table: str = strawberry.field(description="A tenant that is being moved has two.")
    index: str = strawberry.field(description="Where it is a partition: `table`, `GSI1`, `GSI2` or `GSI3`.")
    partition: str
    read_units_per_second: float = strawberry.field(description="Asked for, also in vain, in the busiest 10 seconds.")
    write_units_per_second: float
    throttled: int = strawberry.field(description="Calls, or parts of them, that DynamoDB turned away.")
    recommended_shards: int = strawberry.field(description="The fewest shards that can serve the collection's peak.")

    @classmethod
    def of(cls, hot: fleet_traffic.HotPartition) -> "HotPartition":
        load = hot.load
        return cls(
            tenant=strawberry.ID(load.partition.tenant),
            collection=load.collection,
            table=load.partition.table,
            index=load.partition.index_name,
            partition=load.partition.key,
            read_units_per_second=load.read_units_per_second,
            write_units_per_second=load.write_units_per_second,
            throttled=load.throttled,
            recommended_shards=hot.recommended_shards,
        )


@strawberry.type
class HotPartitionQueries:
    """Questions about traffic."""

    @strawberry.field(description="Of all servers together, the hottest first.")
    async def hot_partitions(self, info: Info, first: int | None = 20) -> list[HotPartition]:
        return [HotPartition.of(one) for one in await info.context.hot_partitions.hottest(first=page_size(first))]
