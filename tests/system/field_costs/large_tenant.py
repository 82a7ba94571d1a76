"""A tenant of any size, with objects of every kind."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from keyfence.auth.principal import Role
from keyfence.domains.activity.activity_log import ActivityId, activities, new_activity
from keyfence.domains.categories.access_patterns import categories
from keyfence.domains.categories.model import Category
from keyfence.domains.counters.sharded_counter import Counter, counters
from keyfence.domains.customers.access_patterns import customers
from keyfence.domains.customers.model import Customer, CustomerId
from keyfence.domains.groups.access_patterns import groups, memberships
from keyfence.domains.groups.model import Group, GroupId, GroupRole, MemberId, Membership
from keyfence.domains.products.access_patterns import product_revisions, products, sku_claims
from keyfence.domains.products.model import Product, ProductId, revision_of, sku_claim, view_counter
from keyfence.domains.sales.monthly_sales import MonthlySales, monthly_sales, start_of_month
from keyfence.domains.stores.access_patterns import stores
from keyfence.domains.stores.model import Store, StoreId, new_store
from keyfence.domains.users.access_patterns import email_claims, settings, users
from keyfence.domains.users.model import EmailClaim, Setting, User, UserId
from keyfence.store.embedded_edges import MAX_EMBEDDED_EDGES, EmbeddedEdges
from keyfence.store.entity import Entity
from keyfence.store.ids import new_id
from keyfence.store.key_template import KeyPath
from keyfence.store.writes import ActivityNote
from tests.system.field_costs.large_tenant_orders import Ordered, ordered

StoredModel = tuple[Entity[Any], Any]

SHELF: KeyPath = ("shelf",)
BOX: KeyPath = ("box",)
SETTINGS = ("language", "theme", "zone")
NEAR = 6
"""Stores close to each other. All others are far away."""
JOINED = 40
"""The first group has at least so many members, and the first user so many groups: more than are embedded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LargeTenant:
    """Objects of every kind. The first user, group, customer and product have the longest lists, and the first customer
    is the newest."""

    now: datetime
    users: list[User]
    groups: list[Group]
    customers: list[Customer]
    stores: list[Store]
    products: list[Product]
    boxed: Product
    orders: list[Ordered]
    edges: list[Membership]

    @classmethod
    def of(cls, size: int) -> "LargeTenant":
        now = datetime.now(UTC)
        joined = max(size, JOINED)
        people = [_user(number, now) for number in range(joined)]
        circles = [_group(number, now) for number in range(joined)]
        edges = [_edge(people[0], circle, now) for circle in circles]
        edges += [_edge(person, circles[0], now) for person in people[1:]]
        people[0] = replace(people[0], embedded_edges=_head({one.group_id: one for one in edges[:joined]}))
        circles[0] = replace(circles[0], embedded_edges=_head({edges[0].user_id: edges[0]} | _by_user(edges[joined:])))
        customers = [_customer(number, now) for number in range(size)]
        products = [_product(number, SHELF, now) for number in range(size)]
        return cls(
            now=now,
            users=people,
            groups=[replace(circles[0], member_count=joined), *circles[1:]],
            customers=customers,
            stores=[_store(number, now) for number in range(size)],
            products=products,
            boxed=_product(size, BOX, now),
            orders=[one for number in range(size) for one in ordered(customers[0].id, products[number], now)],
            edges=edges,
        )

    def stored(self) -> Iterator[StoredModel]:
        yield from self._people()
        yield from self._shop()
        for order in self.orders:
            yield from order.stored()
        for number, customer in enumerate(self.customers):
            yield customers, customer
            yield stores, self.stores[number]
            yield activities, self._activity(number)

    def _people(self) -> Iterator[StoredModel]:
        for user in self.users:
            yield users, user
            yield email_claims, EmailClaim(email=user.email, user_id=user.id, **_times(self.now))
        for name in SETTINGS:
            yield settings, Setting(user_id=self.users[0].id, name=name, text='"x"', **_times(self.now))
        yield from ((groups, group) for group in self.groups)
        yield from ((memberships, edge) for edge in self.edges)

    def _shop(self) -> Iterator[StoredModel]:
        for path in (SHELF, BOX, (*BOX, "small"), *((*SHELF, str(number)) for number in range(5))):
            yield categories, Category(path=path, product_count=len(self._standing(path)), **_times(self.now))
        for number, product in enumerate((*self.products, self.boxed)):
            yield products, product
            yield sku_claims, sku_claim(product)
            yield product_revisions, revision_of(product, "somebody")
            yield product_revisions, revision_of(replace(self.products[0], revision=number + 2), "somebody")
            yield categories, Category(path=("elsewhere", str(number)), **_times(self.now))
            yield monthly_sales, MonthlySales(id=product.id, total=number + 1, **_times(start_of_month(self.now)))
        yield (
            counters,
            Counter(name=view_counter(self.products[0].id), part="x", total=3, version=1, **_times(self.now)),
        )

    def _standing(self, path: KeyPath) -> list[Product]:
        return [product for product in (*self.products, self.boxed) if product.category == path]

    def _activity(self, number: int) -> Any:
        at = self.now - timedelta(microseconds=number)
        return new_activity(ActivityId(new_id("act")), ActivityNote("user.updated"), self.users[0].id, at)


def _times(now: datetime) -> dict[str, Any]:
    return {"created_at": now, "updated_at": now}


def _user(number: int, now: datetime) -> User:
    names = frozenset(SETTINGS) if number == 0 else frozenset()
    email = f"{number}@crowd.example"
    id = UserId(new_id("usr"))
    return User(
        id=id,
        email=email,
        name=f"U{number}",
        role=Role.MEMBER,
        setting_names=names,
        embedded_edges=EmbeddedEdges(),
        **_times(now),
    )


def _group(number: int, now: datetime) -> Group:
    return Group(
        id=GroupId(new_id("grp")), name=f"G{number:05}", embedded_edges=EmbeddedEdges(), member_count=1, **_times(now)
    )


def _edge(user: User, group: Group, now: datetime) -> Membership:
    return Membership(user_id=MemberId(user.id), group_id=group.id, role=GroupRole.MEMBER, **_times(now))


def _by_user(edges: list[Membership]) -> dict[str, Membership]:
    return {edge.user_id: edge for edge in edges}


def _head(edges: Any) -> EmbeddedEdges:
    first = sorted(edges)[:MAX_EMBEDDED_EDGES]
    return EmbeddedEdges({child: edges[child].attributes for child in first}, first[-1])


def _store(number: int, now: datetime) -> Store:
    place = (52.5 + number / 1000, 13.4) if number < NEAR else (-30 + number / 100, 100 + number / 100)
    return new_store(id=StoreId(new_id("sto")), name=f"S{number}", latitude=place[0], longitude=place[1], now=now)


def _customer(number: int, now: datetime) -> Customer:
    return Customer(id=CustomerId(new_id("cus")), name=f"C{number}", **_times(now - timedelta(microseconds=number)))


def _product(number: int, path: KeyPath, now: datetime) -> Product:
    return Product(
        id=ProductId(new_id("prd")),
        sku=f"SKU-{number}",
        name=f"P{number}",
        price=Decimal(number % 100) + Decimal("0.50"),
        currency="EUR",
        category=path,
        **_times(now),
    )
