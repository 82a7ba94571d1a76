"""Usage as operators see it."""

from datetime import datetime
from typing import Annotated

import strawberry

from keyfence.admin.context import Info
from keyfence.tenancy.repository import checked_tenant
from keyfence.usage import model
from keyfence.usage.model import CONTROL_PLANE, Counts
from keyfence.usage.prices import Prices
from keyfence_iam.boundary import TenantId


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
    def of(cls, operation: str, counts: Counts, prices: Prices) -> "OperationUsage":
        return cls(
            operation=operation,
            requests=counts.requests,
            read_units=float(counts.read_units),
            write_units=float(counts.write_units),
            throttled=counts.refused,
            throttled_calls=counts.throttled_calls,
            cost_usd=float(prices.of(counts.read_units, counts.write_units)),
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
    def of(cls, usage: model.Usage, prices: Prices) -> "Usage":
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
            whose = (await info.context.register.get(checked_tenant(tenant, "tenant"))).id
        return Usage.of(await info.context.usages.between(whose, start, to), info.context.prices)
