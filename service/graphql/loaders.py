"""Loads that are asked for one by one and made together."""

from collections.abc import Sequence
from functools import cached_property

from strawberry.dataloader import DataLoader

from service.domains.counters.repository import Counters
from service.domains.groups.model import Group, GroupId
from service.domains.groups.repository import Groups
from service.domains.products.model import Product, ProductId
from service.domains.products.repository import Products
from service.domains.stores.model import Store, StoreId
from service.domains.stores.repository import Stores
from service.domains.users.model import Setting, User, UserId
from service.domains.users.repository import Users


class Loaders:
    """One request's loaders, each made when it is first asked for something."""

    def __init__(self, users: Users, groups: Groups, stores: Stores, products: Products, counters: Counters) -> None:
        self._users = users
        self._groups = groups
        self._stores = stores
        self._products = products
        self._counters = counters

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
    def settings(self) -> DataLoader[UserId, list[Setting]]:
        return DataLoader(load_fn=self._settings_of)

    async def _settings_of(self, ids: Sequence[UserId]) -> list[list[Setting]]:
        """Of whole users, since the names of the settings are on the user's own item."""
        found = await self.users.load_many(ids)
        settings = iter(await self._users.settings_of([user for user in found if user]))
        return [next(settings) if user else [] for user in found]
