"""`LargeTenant`: the models of a tenant of any size, with objects of every kind."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from keyfence.auth.principal import Role
from keyfence.domains.activity.activity_log import ActivityId, activities, new_activity
from keyfence.domains.categories.access_patterns import categories
from keyfence.domains.categories.model import Category
from keyfence.domains.counters.sharded_counter import CounterPart, counters
from keyfence.domains.customers.access_patterns import customers
from keyfence.domains.customers.model import Customer, CustomerId
from keyfence.domains.groups.access_patterns import groups, memberships
from keyfence.domains.groups.model import Group, GroupId, GroupRole, MemberId, Membership
from keyfence.domains.products.access_patterns import product_revisions, products, sku_claims
from keyfence.domains.products.model import Product, ProductId, revision_of, sku_claim, view_counter_name
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
from tests.system.field_costs.large_tenant_orders import OrderWithDetails, orders_of_product

StoredModel = tuple[Entity[Any], Any]

SHELF: KeyPath = ("shelf",)
BOX: KeyPath = ("box",)
SETTING_NAMES = ("language", "theme", "zone")
NEAR_STORES = 6
"""This many stores are close to each other. All others are far away."""
MIN_MEMBERSHIPS = 40
"""The first group has at least this many members, and the first user this many groups: more than can be embedded."""


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
    product_in_box: Product
    orders: list[OrderWithDetails]
    memberships: list[Membership]

    @classmethod
    def with_size(cls, size: int) -> "LargeTenant":
        """Returns a tenant with about `size` objects of each kind."""
        now = datetime.now(UTC)
        member_count = max(size, MIN_MEMBERSHIPS)
        users = [_user(number, now) for number in range(member_count)]
        groups = [_group(number, now) for number in range(member_count)]
        first_user_memberships = [_membership(users[0], group, now) for group in groups]
        other_user_memberships = [_membership(user, groups[0], now) for user in users[1:]]
        first_group_memberships = [first_user_memberships[0], *other_user_memberships]
        users[0] = replace(
            users[0], embedded_edges=_embedded_edges({edge.group_id: edge for edge in first_user_memberships})
        )
        groups[0] = replace(
            groups[0],
            embedded_edges=_embedded_edges({edge.user_id: edge for edge in first_group_memberships}),
            member_count=member_count,
        )
        customers = [_customer(number, now) for number in range(size)]
        products = [_product(number, SHELF, now) for number in range(size)]
        return cls(
            now=now,
            users=users,
            groups=groups,
            customers=customers,
            stores=[_store(number, now) for number in range(size)],
            products=products,
            product_in_box=_product(size, BOX, now),
            orders=[order for product in products for order in orders_of_product(customers[0].id, product, now)],
            memberships=first_user_memberships + other_user_memberships,
        )

    def stored_models(self) -> Iterator[StoredModel]:
        yield from self._users_and_groups()
        yield from self._catalog()
        for order in self.orders:
            yield from order.stored_models()
        for number, customer in enumerate(self.customers):
            yield customers, customer
            yield stores, self.stores[number]
            yield activities, self._activity(number)

    def _users_and_groups(self) -> Iterator[StoredModel]:
        for user in self.users:
            yield users, user
            yield email_claims, EmailClaim(email=user.email, user_id=user.id, **_times(self.now))
        for name in SETTING_NAMES:
            yield settings, Setting(user_id=self.users[0].id, name=name, text='"x"', **_times(self.now))
        yield from ((groups, group) for group in self.groups)
        yield from ((memberships, membership) for membership in self.memberships)

    def _catalog(self) -> Iterator[StoredModel]:
        for path in (SHELF, BOX, (*BOX, "small"), *((*SHELF, str(number)) for number in range(5))):
            yield categories, Category(path=path, product_count=len(self._products_in(path)), **_times(self.now))
        for number, product in enumerate((*self.products, self.product_in_box)):
            yield products, product
            yield sku_claims, sku_claim(product)
            yield product_revisions, revision_of(product, "somebody")
            yield product_revisions, revision_of(replace(self.products[0], revision=number + 2), "somebody")
            yield categories, Category(path=("elsewhere", str(number)), **_times(self.now))
            yield monthly_sales, MonthlySales(id=product.id, total=number + 1, **_times(start_of_month(self.now)))
        yield (
            counters,
            CounterPart(name=view_counter_name(self.products[0].id), part="x", total=3, version=1, **_times(self.now)),
        )

    def _products_in(self, path: KeyPath) -> list[Product]:
        return [product for product in (*self.products, self.product_in_box) if product.category == path]

    def _activity(self, number: int) -> Any:
        created_at = self.now - timedelta(microseconds=number)
        return new_activity(ActivityId(new_id("act")), ActivityNote("user.updated"), self.users[0].id, created_at)


def _times(now: datetime) -> dict[str, Any]:
    return {"created_at": now, "updated_at": now}


def _user(number: int, now: datetime) -> User:
    names = frozenset(SETTING_NAMES) if number == 0 else frozenset()
    email = f"{number}@large.example"
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


def _membership(user: User, group: Group, now: datetime) -> Membership:
    return Membership(user_id=MemberId(user.id), group_id=group.id, role=GroupRole.MEMBER, **_times(now))


def _embedded_edges(memberships_by_child: Mapping[str, Membership]) -> EmbeddedEdges:
    """Returns the edges that the item of a user or a group embeds: those with the first ids."""
    children = sorted(memberships_by_child)[:MAX_EMBEDDED_EDGES]
    return EmbeddedEdges({child: memberships_by_child[child].attributes for child in children}, children[-1])


def _store(number: int, now: datetime) -> Store:
    is_near = number < NEAR_STORES
    latitude, longitude = (52.5 + number / 1000, 13.4) if is_near else (-30 + number / 100, 100 + number / 100)
    return new_store(id=StoreId(new_id("sto")), name=f"S{number}", latitude=latitude, longitude=longitude, now=now)


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
