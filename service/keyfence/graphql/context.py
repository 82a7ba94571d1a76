"""`Context` of one request: its caller, table, repositories and loaders; the `cost` extension."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from functools import cached_property

from strawberry.dataloader import DataLoader
from strawberry.types import Info as StrawberryInfo

from keyfence.admission.admission import Turn
from keyfence.auth.principal import Principal, Role
from keyfence.domains.activity.activity_log import Activities, journal
from keyfence.domains.categories.move import Moves
from keyfence.domains.categories.repository import Categories
from keyfence.domains.counters.counter import Counters
from keyfence.domains.customers.model import Customer, CustomerId
from keyfence.domains.customers.repository import Customers
from keyfence.domains.groups.memberships import Memberships
from keyfence.domains.groups.model import Group, GroupId
from keyfence.domains.groups.repository import Groups
from keyfence.domains.orders.line_items import LineItem, Priced
from keyfence.domains.orders.line_items import ProductId as WantedId
from keyfence.domains.orders.model import Order, OrderEvent, OrderId, OrderRow
from keyfence.domains.orders.place_order import Placing
from keyfence.domains.orders.recycle_bin import RecycleBin
from keyfence.domains.orders.repository import Orders, Parts
from keyfence.domains.orders.review_queue import Reviews
from keyfence.domains.products.category_products import Shelves
from keyfence.domains.products.model import Product, ProductId
from keyfence.domains.products.repository import Products
from keyfence.domains.sales.sales import Sales
from keyfence.domains.sessions.revocation import Sessions
from keyfence.domains.stores.model import Store, StoreId
from keyfence.domains.stores.repository import Stores
from keyfence.domains.users.model import Setting, User, UserId
from keyfence.domains.users.repository import Users
from keyfence.errors import Forbidden, QuotaExceeded
from keyfence.graphql.executor import RequestInfo
from keyfence.store.location import Home
from keyfence.store.table import Table
from keyfence.tenancy.tenant import Tenant
from keyfence.usage.hourly_usage import SEVERAL, UNKNOWN, Prices


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


MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody whose token is good and whose tenant is registered."""

    principal: Principal
    tenant: Tenant
    turn: Turn
    home: Home


@dataclass(frozen=True)
class Context:
    """One request's view of one tenant. There is no other way to data than through its table."""

    caller: Caller
    fenced: Table

    @cached_property
    def table(self) -> Table:
        """The tenant's, with a journal in which the caller's changes are noted."""
        return replace(self.fenced, journal=journal(self.principal.subject))

    @property
    def principal(self) -> Principal:
        return self.caller.principal

    @cached_property
    def users(self) -> Users:
        return Users(self.table, quota=self.caller.tenant.quotas.users)

    @cached_property
    def groups(self) -> Groups:
        return Groups(self.table)

    @cached_property
    def memberships(self) -> Memberships:
        return Memberships(self.table)

    @cached_property
    def customers(self) -> Customers:
        return Customers(self.table)

    @cached_property
    def orders(self) -> Orders:
        return Orders(self.table, self.principal.subject)

    @cached_property
    def parts(self) -> Parts:
        return Parts(self.table)

    @cached_property
    def placing(self) -> Placing:
        return Placing(self.table, self.principal.subject, self._prices)

    async def _prices(self, wanted: Sequence[WantedId]) -> Sequence[Priced | None]:
        return await self.products.find_many([ProductId(id) for id in wanted])

    @cached_property
    def reviews(self) -> Reviews:
        return Reviews(self.orders)

    @cached_property
    def recycle_bin(self) -> RecycleBin:
        return RecycleBin(self.orders)

    @cached_property
    def stores(self) -> Stores:
        return Stores(self.table)

    @cached_property
    def sessions(self) -> Sessions:
        return Sessions(self.table)

    @cached_property
    def products(self) -> Products:
        return Products(self.table, self.principal.subject)

    @cached_property
    def categories(self) -> Categories:
        return Categories(self.table)

    @cached_property
    def moves(self) -> Moves:
        return Moves(self.table, Shelves(self.table).carry)

    @cached_property
    def counters(self) -> Counters:
        return Counters(self.table)

    @cached_property
    def sales(self) -> Sales:
        return Sales(self.table)

    @cached_property
    def activity(self) -> Activities:
        return Activities(self.table)

    @cached_property
    def loaders(self) -> Loaders:
        return Loaders(
            self.users,
            self.groups,
            self.stores,
            self.products,
            self.counters,
            self.customers,
            self.orders,
            self.parts,
        )

    def forget(self) -> None:
        """What was loaded before a mutation may not be true after it."""
        self.__dict__.pop("loaders", None)

    def require_room(self) -> None:
        """As much as was stored when the tenant's items were last weighed must be less than its quota."""
        most = self.caller.tenant.quotas.storage_mb
        if self.caller.tenant.stored_bytes >= most * MEGABYTE:
            raise QuotaExceeded(f"the tenant's quota of {most:,} MB of storage is used up", quota="storageMb")

    def require(self, needed: Role) -> None:
        if not self.principal.role.covers(needed):
            raise Forbidden(f"this needs the role {needed}; the token has {self.principal.role}")


Info = StrawberryInfo[Context, None]


def turn_of(caller: Caller, request: RequestInfo | None) -> AbstractAsyncContextManager[None]:
    """A request that is not understood has a turn too, since its caller is looked at all the same."""
    if request is None:
        return caller.turn.taken(UNKNOWN, writes=False)
    return caller.turn.taken(request.root or SEVERAL, writes=request.mutates)


def cost_of(prices: Prices, caller: Caller) -> Mapping[str, object]:
    """So far: the calls of this request, the look at its token included."""
    spent = caller.turn
    usd = float(prices.of(spent.read_units, spent.write_units))
    return {
        "calls": spent.calls.total(),
        "readUnits": spent.read_units,
        "writeUnits": spent.write_units,
        "usd": usd,
    }
