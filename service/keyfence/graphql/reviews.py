"""The review queue and the recycle bin as tenants see them."""

import strawberry

from keyfence.graphql.context import Info
from keyfence.graphql.orders import Order
from keyfence.graphql.paging import Connection, connection, size


@strawberry.type
class ReviewQueries:
    """Questions about orders that are set apart."""

    @strawberry.field(description="Orders that were flagged and not claimed yet, oldest flag first.")
    async def review_queue(self, info: Info, first: int | None = 20, after: str | None = None) -> Connection[Order]:
        return connection(await info.context.reviews.queue(first=size(first), after=after), Order.of)

    @strawberry.field(description="Orders in the recycle bin, newest deletion first.")
    async def deleted_orders(self, info: Info, first: int | None = 20, after: str | None = None) -> Connection[Order]:
        return connection(await info.context.recycle_bin.newest(first=size(first), after=after), Order.of)
