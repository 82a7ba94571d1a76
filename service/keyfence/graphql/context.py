"""`Context` of one request: its caller, table, repositories and loaders; the `cost` extension."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from functools import cached_property

from strawberry.dataloader import DataLoader
from strawberry.types import Info as StrawberryInfo

from keyfence.admission.admission import AdmittedRequest
from keyfence.auth.principal import Principal, Role
from keyfence.domains.activity.activity_log import ActivityRepository, activity_log
from keyfence.domains.categories.move import CategoryMoves
from keyfence.domains.categories.repository import CategoryRepository
from keyfence.domains.counters.counter import CounterRepository
from keyfence.domains.customers.model import Customer, CustomerId
from keyfence.domains.customers.repository import CustomerRepository
from keyfence.domains.groups.memberships import MembershipRepository
from keyfence.domains.groups.model import Group, GroupId
from keyfence.domains.groups.repository import GroupRepository
from keyfence.domains.orders.line_items import LineItem, PricedProduct
from keyfence.domains.orders.line_items import ProductId as WantedId
from keyfence.domains.orders.model import Order, OrderEvent, OrderId, OrderRow
from keyfence.domains.orders.place_order import OrderPlacement
from keyfence.domains.orders.recycle_bin import RecycleBin
from keyfence.domains.orders.repository import OrderDetails, OrderRepository
from keyfence.domains.orders.review_queue import ReviewQueue
from keyfence.domains.products.category_products import CategoryProducts
from keyfence.domains.products.model import Product, ProductId
from keyfence.domains.products.repository import ProductRepository
from keyfence.domains.sales.sales import SalesRepository
from keyfence.domains.sessions.revocation import RevocationRepository
from keyfence.domains.stores.model import Store, StoreId
from keyfence.domains.stores.repository import StoreRepository
from keyfence.domains.users.model import Setting, User, UserId
from keyfence.domains.users.repository import UserRepository
from keyfence.errors import Forbidden, QuotaExceeded
from keyfence.graphql.executor import RequestInfo
from keyfence.store.location import TenantLocation
from keyfence.store.table import Table
from keyfence.tenancy.tenant import Tenant
from keyfence.usage.hourly_usage import SEVERAL, UNKNOWN, PriceTable


class Loaders:
    """One request's loaders, each made when it is first asked for something."""

    def __init__(
        self,
        users: UserRepository,
        groups: GroupRepository,
        stores: StoreRepository,
        products: ProductRepository,
        counters: CounterRepository,
        customers: CustomerRepository,
        orders: OrderRepository,
        parts: OrderDetails,
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
class TenantRequest:
    """Somebody whose token is good and whose tenant is registered."""

    principal: Principal
    tenant: Tenant
    turn: AdmittedRequest
    home: TenantLocation


@dataclass(frozen=True)
class Context:
    """One request's view of one tenant. There is no other way to data than through its table."""

    caller: TenantRequest
    fenced: Table

    @cached_property
    def table(self) -> Table:
        """The tenant's, with a journal in which the caller's changes are noted."""
        return replace(self.fenced, activity_log=activity_log(self.principal.subject))

    @property
    def principal(self) -> Principal:
        return self.caller.principal

    @cached_property
    def users(self) -> UserRepository:
        return UserRepository(self.table, quota=self.caller.tenant.quotas.users)

    @cached_property
    def groups(self) -> GroupRepository:
        return GroupRepository(self.table)

    @cached_property
    def memberships(self) -> MembershipRepository:
        return MembershipRepository(self.table)

    @cached_property
    def customers(self) -> CustomerRepository:
        return CustomerRepository(self.table)

    @cached_property
    def orders(self) -> OrderRepository:
        return OrderRepository(self.table, self.principal.subject)

    @cached_property
    def parts(self) -> OrderDetails:
        return OrderDetails(self.table)

    @cached_property
    def placing(self) -> OrderPlacement:
        return OrderPlacement(self.table, self.principal.subject, self._prices)

    async def _prices(self, wanted: Sequence[WantedId]) -> Sequence[PricedProduct | None]:
        return await self.products.find_many([ProductId(id) for id in wanted])

    @cached_property
    def reviews(self) -> ReviewQueue:
        return ReviewQueue(self.orders)

    @cached_property
    def recycle_bin(self) -> RecycleBin:
        return RecycleBin(self.orders)

    @cached_property
    def stores(self) -> StoreRepository:
        return StoreRepository(self.table)

    @cached_property
    def sessions(self) -> RevocationRepository:
        return RevocationRepository(self.table)

    @cached_property
    def products(self) -> ProductRepository:
        return ProductRepository(self.table, self.principal.subject)

    @cached_property
    def categories(self) -> CategoryRepository:
        return CategoryRepository(self.table)

    @cached_property
    def moves(self) -> CategoryMoves:
        return CategoryMoves(self.table, CategoryProducts(self.table).carry)

    @cached_property
    def counters(self) -> CounterRepository:
        return CounterRepository(self.table)

    @cached_property
    def sales(self) -> SalesRepository:
        return SalesRepository(self.table)

    @cached_property
    def activity(self) -> ActivityRepository:
        return ActivityRepository(self.table)

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


def turn_of(caller: TenantRequest, request: RequestInfo | None) -> AbstractAsyncContextManager[None]:
    """A request that is not understood has a turn too, since its caller is looked at all the same."""
    if request is None:
        return caller.turn.taken(UNKNOWN, writes=False)
    return caller.turn.taken(request.root or SEVERAL, writes=request.mutates)


def request_cost(prices: PriceTable, caller: TenantRequest) -> Mapping[str, object]:
    """So far: the calls of this request, the look at its token included."""
    spent = caller.turn
    usd = float(prices.of(spent.read_units, spent.write_units))
    return {
        "calls": spent.calls.total(),
        "readUnits": spent.read_units,
        "writeUnits": spent.write_units,
        "usd": usd,
    }
