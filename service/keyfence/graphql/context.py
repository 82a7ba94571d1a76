"""What the resolvers of one request hold: the caller and the caller's tenant, already fenced."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from strawberry.types import Info as StrawberryInfo

from keyfence.auth.principal import Principal
from keyfence.auth.role import Role
from keyfence.domains.activity.repository import Activities, journal
from keyfence.domains.categories.moves import Moves
from keyfence.domains.categories.repository import Categories
from keyfence.domains.counters.repository import Counters
from keyfence.domains.customers.repository import Customers
from keyfence.domains.groups.memberships import Memberships
from keyfence.domains.groups.repository import Groups
from keyfence.domains.orders.line_items import Priced
from keyfence.domains.orders.line_items import ProductId as WantedId
from keyfence.domains.orders.parts import Parts
from keyfence.domains.orders.place_order import Placing
from keyfence.domains.orders.recycle_bin import RecycleBin
from keyfence.domains.orders.repository import Orders
from keyfence.domains.orders.review_queue import Reviews
from keyfence.domains.products.category_products import Shelves
from keyfence.domains.products.model import ProductId
from keyfence.domains.products.repository import Products
from keyfence.domains.sales.repository import Sales
from keyfence.domains.sessions.repository import Sessions
from keyfence.domains.stores.repository import Stores
from keyfence.domains.users.repository import Users
from keyfence.errors import Forbidden, QuotaExceeded
from keyfence.graphql.loaders import Loaders
from keyfence.store.location import Home
from keyfence.store.table import Table
from keyfence.tenancy.model import Tenant
from keyfence.usage.turn import Turn

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
