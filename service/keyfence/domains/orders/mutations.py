"""GraphQL mutations of orders: place, change the status, flag, claim, delete, restore."""

from collections.abc import Sequence
from typing import Any

import strawberry

from keyfence.auth.principal import Role
from keyfence.domains.customers.repository import checked_customer_id
from keyfence.domains.orders import model
from keyfence.domains.orders.graphql import (
    Order,
    order_details,
    order_recycle_bin,
    order_repository,
    order_review_queue,
)
from keyfence.domains.orders.line_items import PricedProduct, ProductId, RequestedLine
from keyfence.domains.orders.model import CustomerId, OrderStatus
from keyfence.domains.orders.order_placement import OrderPlacement
from keyfence.domains.orders.repository import checked_order_id
from keyfence.domains.products import model as products_model
from keyfence.domains.products.graphql import product_repository
from keyfence.domains.products.repository import checked_product_id
from keyfence.domains.sales.graphql import sales_repository
from keyfence.domains.sales.monthly_sales import SOLD_STATUSES, sales_changes
from keyfence.graphql.context import Context, Info
from keyfence.graphql.mutation_checks import mutation
from keyfence.store.writes import Write


def order_placement(context: Context) -> OrderPlacement:
    async def find_products(ids: Sequence[ProductId]) -> Sequence[PricedProduct | None]:
        return await context.get(product_repository).find_many([products_model.ProductId(id) for id in ids])

    return OrderPlacement(context.table, context.principal.subject, find_products)


@strawberry.input
class LineItemInput:
    """A product and a quantity."""

    product_id: strawberry.ID
    quantity: int

    def requested_line(self, position: int) -> RequestedLine:
        return RequestedLine(
            ProductId(checked_product_id(self.product_id, "productId", position=position)), self.quantity
        )


@strawberry.input
class PlaceOrderInput:
    """The fields of a new order, with 1 to 90 items."""

    customer_id: strawberry.ID
    region: str
    items: list[LineItemInput]


@strawberry.type
class OrderMutations:
    """Mutations of orders."""

    @mutation(
        needs=Role.MEMBER,
        description="Place an order at the current prices. "
        "A repeated request with the same idempotencyKey returns the same order.",
    )
    async def place_order(self, info: Info, input: PlaceOrderInput, idempotency_key: str | None = None) -> Order:
        placed = await info.context.get(order_placement).place(
            customer_id=CustomerId(checked_customer_id(input.customer_id, "customerId")),
            region=input.region,
            lines=[line.requested_line(position) for position, line in enumerate(input.items, start=1)],
            idempotency_key=idempotency_key,
        )
        return Order.of(placed)

    @mutation(needs=Role.MEMBER, description="Change the status of an order.")
    async def transition_order(
        self,
        info: Info,
        id: strawberry.ID,
        to: OrderStatus,
        expected_version: int | None = None,
        note: str | None = None,
    ) -> Order:
        context = info.context

        async def sales_writes(before: model.Order, after: model.Order) -> Sequence[Write[Any]]:
            return await _sales_writes(context, before, after)

        updated = await context.get(order_repository).transition(
            checked_order_id(id), to, expected_version=expected_version, note=note, extra_writes=sales_writes
        )
        return Order.of(updated)

    @mutation(needs=Role.MEMBER, description="Flag an order for review.")
    async def flag_order(self, info: Info, id: strawberry.ID, reason: str) -> Order:
        return Order.of(await info.context.get(order_review_queue).flag(checked_order_id(id), reason))

    @mutation(
        needs=Role.MEMBER, description="Claim the oldest order of the review queue. Returns null if the queue is empty."
    )
    async def claim_review(self, info: Info) -> Order | None:
        claimed = await info.context.get(order_review_queue).claim()
        return Order.of(claimed) if claimed else None

    @mutation(
        needs=Role.ADMIN,
        frees_storage=True,
        description="Move an order to the recycle bin, from which it can be restored for 30 days.",
    )
    async def delete_order(self, info: Info, id: strawberry.ID) -> Order:
        return Order.of(await info.context.get(order_recycle_bin).delete(checked_order_id(id)))

    @mutation(needs=Role.ADMIN, description="Restore an order from the recycle bin.")
    async def restore_order(self, info: Info, id: strawberry.ID) -> Order:
        return Order.of(await info.context.get(order_recycle_bin).restore(checked_order_id(id)))


async def _sales_writes(context: Context, before: model.Order, after: model.Order) -> Sequence[Write[Any]]:
    """Returns the writes that add the order's items to the monthly sales, or subtract them.

    Returns no writes if the change has no effect on whether the order counts as sold."""
    if (before.status in SOLD_STATUSES) == (after.status in SOLD_STATUSES):
        return ()
    (items,) = await context.get(order_details).items_of([before])
    return await context.get(sales_repository).writes(sales_changes(before, after, items))
