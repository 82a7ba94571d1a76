"""Everything of a tenant as lines, in an order that stays the same as long as the tenant does."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from keyfence.bulk.pages import chunks, every
from keyfence.bulk.record_kind import Line, RecordKind
from keyfence.domains.categories import bulk as categories
from keyfence.domains.categories.access_patterns import category_by_path, last_move
from keyfence.domains.categories.model import Category, CategoryMove
from keyfence.domains.categories.repository import read_tree
from keyfence.domains.customers import bulk as customers
from keyfence.domains.customers.access_patterns import customer_by_id, newest_customers
from keyfence.domains.orders import bulk as orders
from keyfence.domains.orders.access_patterns import deleted_orders, orders_of_customer
from keyfence.domains.orders.bulk_format import OrderRecord
from keyfence.domains.orders.model import OrderId, is_purged
from keyfence.domains.products import bulk as products
from keyfence.domains.products.access_patterns import products_in_category
from keyfence.domains.products.model import ProductId
from keyfence.errors import Conflict
from keyfence.store import timestamps
from keyfence.store.key_template import KeyPath
from keyfence.store.table import Table

TOGETHER = 50


@dataclass(frozen=True, slots=True)
class Exporter:
    """Reads a tenant that may be in use. What a line needs stands before it, also if it came meanwhile."""

    table: Table
    told: set[object] = field(default_factory=set)
    """The ids and the paths of what there is a line for."""

    async def lines(self) -> AsyncIterator[Line]:
        move = await self._settled()
        deleted = [order.id async for order in every(self.table, deleted_orders)]
        async for customer in every(self.table, newest_customers):
            yield self._line(customers.RECORDS, customer.id, customer)
        shown = await read_tree(self.table)
        for category in shown:
            yield self._line(categories.RECORDS, category.path, category)
        async for line in self._products(shown):
            yield line
        async for line in self._orders(deleted):
            yield line
        if await self._settled() != move:
            raise Conflict("a category was moved meanwhile; export again")

    async def _settled(self) -> CategoryMove | None:
        move = await self.table.find(last_move)
        if move and move.under_way:
            raise Conflict("a category is being moved; export again when it has arrived")
        return move

    async def _products(self, shown: Sequence[Category]) -> AsyncIterator[Line]:
        async for ids in chunks(self._product_ids(shown), TOGETHER):
            for product in await products.load(self.table, ids):
                if product:
                    yield self._line(products.RECORDS, product.product.id, product)

    async def _product_ids(self, shown: Sequence[Category]) -> AsyncIterator[ProductId]:
        for category in shown:
            async for product in every(self.table, products_in_category, category=category.path):
                if self._first(product.id):
                    yield product.id

    async def _orders(self, deleted: Sequence[OrderId]) -> AsyncIterator[Line]:
        async for ids in chunks(self._order_ids(deleted), TOGETHER):
            for whole in await orders.load(self.table, ids):
                if whole and not is_purged(whole.order, timestamps.utc_now()):
                    async for line in self._needed(whole):
                        yield line
                    yield self._line(orders.RECORDS, whole.order.id, whole)

    async def _order_ids(self, deleted: Sequence[OrderId]) -> AsyncIterator[OrderId]:
        """Whoever is deleted or restored meanwhile is met as one or the other, and once."""
        async for customer in every(self.table, newest_customers):
            async for row in every(self.table, orders_of_customer, customer_id=customer.id):
                if self._first(row.id):
                    yield row.id
        since = [order.id async for order in every(self.table, deleted_orders)]
        for id in (*deleted, *since):
            if self._first(id):
                yield id

    async def _needed(self, whole: OrderRecord) -> AsyncIterator[Line]:
        """What came after its own kind had been read."""
        buyer = whole.order.customer_id
        if self._first(buyer) and (customer := await self.table.find(customer_by_id, id=buyer)):
            yield self._line(customers.RECORDS, customer.id, customer)
        late = [ProductId(item.product_id) for item in whole.items if self._first(item.product_id)]
        for product in await products.load(self.table, late):
            if product:
                async for line in self._above(product.product.category):
                    yield line
                yield self._line(products.RECORDS, product.product.id, product)

    async def _above(self, path: KeyPath) -> AsyncIterator[Line]:
        for depth in range(1, len(path) + 1):
            if self._first(path[:depth]) and (found := await self.table.find(category_by_path, path=path[:depth])):
                yield self._line(categories.RECORDS, found.path, found)

    def _first(self, name: object) -> bool:
        new = name not in self.told
        self.told.add(name)
        return new

    def _line(self, kind: RecordKind[Any], name: object, record: Any) -> Line:
        self.told.add(name)
        return kind.spell(record)
