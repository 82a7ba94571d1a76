"""Loads that are asked for one by one and made together."""

from collections.abc import Sequence
from functools import cached_property

from strawberry.dataloader import DataLoader

from keyfence.domains.counters.repository import Counters
from keyfence.domains.customers.model import Customer, CustomerId
from keyfence.domains.customers.repository import Customers
from keyfence.domains.groups.model import Group, GroupId
from keyfence.domains.groups.repository import Groups
from keyfence.domains.orders.event import OrderEvent
from keyfence.domains.orders.line_items import LineItem
from keyfence.domains.orders.model import Order, OrderId, OrderRow
from keyfence.domains.orders.parts import Parts
from keyfence.domains.orders.repository import Orders
from keyfence.domains.products.model import Product, ProductId
from keyfence.domains.products.repository import Products
from keyfence.domains.stores.model import Store, StoreId
from keyfence.domains.stores.repository import Stores
from keyfence.domains.users.model import Setting, User, UserId
from keyfence.domains.users.repository import Users


class Loaders:
    """One request's loaders, each made when it is first asked for something."""

    def __init__(
        self,
        users: Users,
        groups: Groups,
        stores: Stores,
        products: Products,
        counters: Counters,
        customers: Customers,
        orders: Orders,
        parts: Parts,
    ) -> None:
        self._users = users
        self._groups = groups
        self._stores = stores
        self._products = products
        self._counters = counters
        self._customers = customers
        self._orders = orders
        self._parts = parts

    @cached_property
    def users(self) -> DataLoader[UserId, User | None]:
        return DataLoader(load_fn=self._users.find_many)

    @cached_property
    def groups(self) -> DataLoader[GroupId, Group | None]:
        return DataLoader(load_fn=self._groups.find_many)

    @cached_property
    def stores(self) -> DataLoader[StoreId, Store | None]:
        return DataLoader(load_fn=self._stores.find_many)

    @cached_property
    def products(self) -> DataLoader[ProductId, Product | None]:
        return DataLoader(load_fn=self._products.find_many)

    @cached_property
    def counts(self) -> DataLoader[str, int]:
        return DataLoader(load_fn=self._counters.totals)

    @cached_property
    def customers(self) -> DataLoader[CustomerId, Customer | None]:
        return DataLoader(load_fn=self._customers.find_many)

    @cached_property
    def orders(self) -> DataLoader[OrderId, Order | None]:
        return DataLoader(load_fn=self._orders.find_many)

    @cached_property
    def items(self) -> DataLoader[OrderRow, list[LineItem]]:
        return DataLoader(load_fn=self._parts.items_of, cache_key_fn=_state)

    @cached_property
    def histories(self) -> DataLoader[OrderRow, list[OrderEvent]]:
        return DataLoader(load_fn=self._parts.histories_of, cache_key_fn=_state)

    @cached_property
    def settings(self) -> DataLoader[UserId, list[Setting]]:
        return DataLoader(load_fn=self._settings_of)

    async def _settings_of(self, ids: Sequence[UserId]) -> list[list[Setting]]:
        """Of whole users, since the names of the settings are on the user's own item."""
        found = await self.users.load_many(ids)
        settings = iter(await self._users.settings_of([user for user in found if user]))
        return [next(settings) if user else [] for user in found]


def _state(order: OrderRow) -> tuple[str, int]:
    return order.id, order.version
