"""Writes the demo tenants into the table."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from keyfence.auth.principal import Role
from keyfence.development_keys import DEVELOPMENT_ISSUER
from keyfence.domains.activity.activity_log import activities
from keyfence.domains.categories.access_patterns import categories
from keyfence.domains.customers.access_patterns import customers
from keyfence.domains.groups.access_patterns import groups, memberships
from keyfence.domains.groups.model import Group, GroupId, GroupRole, MemberId, Membership
from keyfence.domains.orders.access_patterns import order_events, order_items, order_rows, orders
from keyfence.domains.orders.bulk_record import OrderRecord
from keyfence.domains.orders.model import is_alive, order_row
from keyfence.domains.products.access_patterns import product_revisions, products, sku_claims
from keyfence.domains.products.bulk import ProductRecord
from keyfence.domains.products.model import sku_claim
from keyfence.domains.sales.monthly_sales import MonthlySales, ProductMonth, monthly_sales, sales_changes
from keyfence.domains.stores.access_patterns import stores
from keyfence.domains.users.access_patterns import email_claims, user_counts, users
from keyfence.domains.users.model import EmailClaim, User, UserCount, UserId
from keyfence.email_address import email_key
from keyfence.local.demo.shop import ShopData
from keyfence.local.demo.tenants import TENANTS, DemoTenant
from keyfence.store import timestamps
from keyfence.store.embedded_edges import EdgeAttributes, EmbeddedEdges
from keyfence.store.table import MAX_SPLIT_TRANSACTION_WRITES, Table
from keyfence.store.table_handles import Tables
from keyfence.store.tenant_location import TenantLocation
from keyfence.store.writes import Write, put
from keyfence.tenancy.repository import TenantRepository
from keyfence.tenancy.tenant import Tenant
from keyfence.tenancy.tenant_status import TenantStatus
from keyfence.tenancy.tier_quotas import Tier
from keyfence_iam.tenant import TenantId, parse_tenant_id

LOADER = "keyfence-dev"
"""The operator who is named in the events of the demo tenants."""


async def load_demo(tables: Tables, on_progress: Callable[[str], None]) -> None:
    """Writes the demo tenants that do not exist yet.

    The tenant itself is stored last. If the load is interrupted, the tenant does not exist, so the next start repeats
    the load.
    """
    repository = TenantRepository(tables.for_control_plane(may_write=True), LOADER)
    for text, tenant in TENANTS.items():
        id = parse_tenant_id(text)
        if await repository.find(id) is None:
            on_progress(f"loading the demo tenant {id}")
            table = tables.for_tenant(TenantLocation(tenant=id), may_write=True)
            await _write_users(table, tenant)
            await write_shop(table, ShopData(tenant, timestamps.utc_now()))
            await repository.add(_stored_tenant(id, tenant))


async def write_shop(table: Table, shop: ShopData) -> None:
    """Writes all items of a shop. Their keys are always the same, so an interrupted write can be repeated.

    Items with few index keys come first, because engines get slower as their indexes grow. The activity log is written
    last, in one transaction. The keys of its entries about deleted orders contain the deletion time, which depends on
    the current time. If some of these entries were written before an interruption, the repetition would add others.
    """
    writes = sorted(_shop_writes(shop), key=lambda write: len(write.entity.keys))
    for start in range(0, len(writes), MAX_SPLIT_TRANSACTION_WRITES):
        await table.write(*writes[start : start + MAX_SPLIT_TRANSACTION_WRITES])
    await table.write(*(put(activities, activity) for activity in shop.activities()))


def _shop_writes(shop: ShopData) -> Iterator[Write[Any]]:
    yield from (put(categories, category) for category in shop.categories())
    yield from (put(customers, customer) for customer in shop.customers())
    yield from (put(stores, store) for store in shop.stores())
    for product in shop.products():
        yield from _product_writes(product)
    records = shop.orders()
    for record in records:
        yield from _order_writes(record)
    yield from (put(monthly_sales, sales) for sales in _monthly_sales(records))


def _product_writes(record: ProductRecord) -> Iterator[Write[Any]]:
    yield put(products, record.product)
    yield put(sku_claims, sku_claim(record.product))
    yield from (put(product_revisions, revision) for revision in record.revisions)


def _order_writes(record: OrderRecord) -> Iterator[Write[Any]]:
    yield put(orders, record.order)
    if is_alive(record.order):
        yield put(order_rows, order_row(record.order))
    yield from (put(order_items, item) for item in record.items)
    yield from (put(order_events, event) for event in record.events)


def _monthly_sales(records: Sequence[OrderRecord]) -> Iterator[MonthlySales]:
    totals: Counter[ProductMonth] = Counter()
    for record in records:
        totals.update(sales_changes(None, record.order, record.items))
    for (month, product), total in totals.items():
        yield MonthlySales(id=product, total=total, created_at=month, updated_at=month)


async def _write_users(table: Table, tenant: DemoTenant) -> None:
    edges = [_membership(tenant, group, user) for group in tenant.groups for user in tenant.groups[group]]
    members = [_user(tenant, name, edges) for name in tenant.users]
    await table.write(
        *(put(users, user) for user in members),
        *(put(email_claims, _email_claim(user)) for user in members),
        put(user_counts, _user_count(members)),
        *(put(groups, _group(tenant, name, edges)) for name in tenant.groups),
        *(put(memberships, edge) for edge in edges),
    )


def _membership(tenant: DemoTenant, group: str, user: str) -> Membership:
    joined_at = max(_group_founded_at(tenant, group), tenant.joined_at(user))
    is_first = tenant.groups[group][0] == user
    return Membership(
        user_id=MemberId(tenant.user_id(user)),
        group_id=_group_id(tenant, group),
        role=GroupRole.MANAGER if is_first else GroupRole.MEMBER,
        created_at=joined_at,
        updated_at=joined_at,
    )


def _user(tenant: DemoTenant, name: str, edges: Sequence[Membership]) -> User:
    id, joined_at = tenant.user_id(name), tenant.joined_at(name)
    role = {0: Role.OWNER, 1: Role.ADMIN}.get(tenant.users.index(name), Role.MEMBER)
    return User(
        id=UserId(id),
        email=tenant.email(name),
        name=name,
        role=role,
        created_at=joined_at,
        updated_at=joined_at,
        embedded_edges=EmbeddedEdges({edge.group_id: edge.attributes for edge in edges if edge.user_id == id}),
    )


def _email_claim(user: User) -> EmailClaim:
    return EmailClaim(
        email=email_key(user.email), user_id=user.id, created_at=user.created_at, updated_at=user.created_at
    )


def _user_count(members: Sequence[User]) -> UserCount:
    first_joined_at = min(user.created_at for user in members)
    return UserCount(total=len(members), created_at=first_joined_at, updated_at=first_joined_at, version=len(members))


def _group(tenant: DemoTenant, name: str, edges: Sequence[Membership]) -> Group:
    id, founded_at = _group_id(tenant, name), _group_founded_at(tenant, name)
    entries: dict[str, EdgeAttributes] = {edge.user_id: edge.attributes for edge in edges if edge.group_id == id}
    return Group(
        id=id,
        name=name,
        created_at=founded_at,
        updated_at=founded_at,
        member_count=len(entries),
        embedded_edges=EmbeddedEdges(entries),
    )


def _group_id(tenant: DemoTenant, name: str) -> GroupId:
    return GroupId(tenant.make_id("grp", name, _group_founded_at(tenant, name)))


def _group_founded_at(tenant: DemoTenant, name: str) -> datetime:
    return tenant.joined_at(tenant.users[0]) + timedelta(hours=1 + list(tenant.groups).index(name))


def _stored_tenant(id: TenantId, tenant: DemoTenant) -> Tenant:
    created_at = tenant.joined_at(tenant.users[0])
    return Tenant(
        id=id,
        name=tenant.name,
        tier=Tier(tenant.tier),
        status=TenantStatus.ACTIVE,
        issuer=DEVELOPMENT_ISSUER,
        owner_id=tenant.owner_id,
        created_at=created_at,
        updated_at=created_at,
    )
