"""GraphQL types and queries of orders, their items and their history."""

from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated

import strawberry

from keyfence.domains.customers.model import CustomerId
from keyfence.domains.orders import line_items, model
from keyfence.domains.orders.model import OrderStatus
from keyfence.domains.orders.recycle_bin import RecycleBin
from keyfence.domains.orders.repository import OrderDetails, OrderRepository, checked_order_id
from keyfence.domains.orders.review_queue import ReviewQueue
from keyfence.domains.products.graphql import Product, product_loader
from keyfence.domains.products.model import ProductId
from keyfence.graphql.context import Context, DataLoader, Info
from keyfence.graphql.query_selections import requested_subfields
from keyfence.graphql.relay_types import Connection, Node, connection, page_size

if TYPE_CHECKING:
    from keyfence.domains.customers.graphql import Customer


def order_repository(context: Context) -> OrderRepository:
    return OrderRepository(context.table, context.principal.subject)


def order_details(context: Context) -> OrderDetails:
    return OrderDetails(context.table)


def order_review_queue(context: Context) -> ReviewQueue:
    return ReviewQueue(context.get(order_repository))


def order_recycle_bin(context: Context) -> RecycleBin:
    return RecycleBin(context.get(order_repository))


def order_loader(context: Context) -> DataLoader[model.OrderId, model.Order | None]:
    return DataLoader(load_fn=context.get(order_repository).find_many)


def line_item_loader(context: Context) -> DataLoader[model.OrderRow, list[line_items.LineItem]]:
    return DataLoader(load_fn=context.get(order_details).items_of, cache_key_fn=_id_and_version)


def history_loader(context: Context) -> DataLoader[model.OrderRow, list[model.OrderEvent]]:
    return DataLoader(load_fn=context.get(order_details).histories_of, cache_key_fn=_id_and_version)


def _id_and_version(order: model.OrderRow) -> tuple[str, int]:
    return order.id, order.version


async def load_order(context: Context, id: str) -> Node | None:
    order = await context.loader(order_loader).load(model.OrderId(id))
    return Order.of(order) if order else None


strawberry.enum(OrderStatus)


@strawberry.type(description="A quantity of a product, at the price it had when the order was placed.")
class LineItem:
    """An item of an order."""

    position: int
    sku: str
    quantity: int
    unit_price: Decimal
    source: strawberry.Private[line_items.LineItem]

    @classmethod
    def of(cls, item: line_items.LineItem) -> "LineItem":
        return cls(
            position=item.position, sku=item.sku, quantity=item.quantity, unit_price=item.unit_price, source=item
        )

    @strawberry.field(description="The product as it is now.")
    async def product(self, info: Info) -> Product:
        found = await info.context.loader(product_loader).load(ProductId(self.source.product_id))
        assert found is not None
        return Product.of(found)


@strawberry.type(description="A change of an order.")
class OrderEvent:
    """An entry of the history of an order."""

    id: strawberry.ID
    created_at: datetime = strawberry.field(name="at")
    kind: str
    actor: str = strawberry.field(name="by")
    from_status: OrderStatus | None = strawberry.field(name="from")
    to_status: OrderStatus | None = strawberry.field(name="to")
    note: str | None

    @classmethod
    def of(cls, event: model.OrderEvent) -> "OrderEvent":
        return cls(
            id=strawberry.ID(event.id),
            created_at=event.created_at,
            kind=event.kind,
            actor=event.actor,
            from_status=event.from_status,
            to_status=event.to_status,
            note=event.note,
        )


@strawberry.type(description="An order of a customer.")
class Order(Node):
    """An order with its items and its history."""

    status: OrderStatus
    region: str
    currency: str
    total: Decimal
    flagged: bool
    created_at: datetime
    updated_at: datetime
    version: int
    source: strawberry.Private[model.OrderRow]

    @classmethod
    def of(cls, order: model.OrderRow) -> "Order":
        return cls(
            id=strawberry.ID(order.id),
            status=order.status,
            region=order.region,
            currency=order.totals.currency,
            total=order.totals.total,
            flagged=order.flagged_at is not None,
            created_at=order.created_at,
            updated_at=order.updated_at,
            version=order.version,
            source=order,
        )

    @strawberry.field
    async def customer(
        self, info: Info
    ) -> Annotated["Customer", strawberry.lazy("keyfence.domains.customers.graphql")]:
        from keyfence.domains.customers.graphql import Customer, customer_loader

        found = await info.context.loader(customer_loader).load(CustomerId(self.source.customer_id))
        assert found is not None
        return Customer.of(found)

    @strawberry.field
    async def items(self, info: Info) -> list[LineItem]:
        return [LineItem.of(item) for item in await info.context.loader(line_item_loader).load(self.source)]

    @strawberry.field(description="All changes of the order, oldest first.")
    async def history(self, info: Info) -> list[OrderEvent]:
        return [OrderEvent.of(event) for event in await info.context.loader(history_loader).load(self.source)]


@strawberry.type
class OrderQueries:
    """Queries of orders, of the review queue and of the recycle bin."""

    @strawberry.field
    async def order(self, info: Info, id: strawberry.ID) -> Order | None:
        checked_id, context = checked_order_id(id), info.context
        if not requested_subfields(info, "items"):
            found = await context.loader(order_loader).load(checked_id)
            return Order.of(found) if found else None
        found_with_items = await context.get(order_repository).find_with_items(checked_id)
        if found_with_items is None:
            return None
        context.loader(line_item_loader).prime(*found_with_items)
        return Order.of(found_with_items[0])

    @strawberry.field(description="Orders that are neither delivered nor cancelled, oldest first.")
    async def open_orders(self, info: Info, first: int | None = 20, after: str | None = None) -> Connection[Order]:
        return connection(
            await info.context.get(order_repository).open_orders(first=page_size(first), after=after), Order.of
        )

    @strawberry.field(
        description="The orders of a region that were placed from one day to another, oldest first. "
        "Both days are in UTC and are included."
    )
    async def orders_by_region(
        self,
        info: Info,
        region: str,
        since: Annotated[date | None, strawberry.argument(name="from")] = None,
        until: Annotated[date | None, strawberry.argument(name="to")] = None,
        first: int | None = 20,
        after: str | None = None,
    ) -> Connection[Order]:
        page = await info.context.get(order_repository).of_region(
            region, since=since, until=until, first=page_size(first), after=after
        )
        return connection(page, Order.of)

    @strawberry.field(description="Orders that are flagged and not claimed yet, oldest flag first.")
    async def review_queue(self, info: Info, first: int | None = 20, after: str | None = None) -> Connection[Order]:
        return connection(
            await info.context.get(order_review_queue).oldest(first=page_size(first), after=after), Order.of
        )

    @strawberry.field(description="Orders in the recycle bin, latest deletion first.")
    async def deleted_orders(self, info: Info, first: int | None = 20, after: str | None = None) -> Connection[Order]:
        return connection(
            await info.context.get(order_recycle_bin).newest(first=page_size(first), after=after), Order.of
        )
