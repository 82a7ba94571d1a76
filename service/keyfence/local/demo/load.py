"""Writing it all, once."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from keyfence.auth.principal import Role
from keyfence.development_keys import LOCAL_ISSUER
from keyfence.domains.activity.activity_log import activities
from keyfence.domains.categories.access_patterns import categories
from keyfence.domains.customers.access_patterns import customers
from keyfence.domains.groups.access_patterns import groups, memberships
from keyfence.domains.groups.model import Group, GroupId, GroupRole, MemberId, Membership
from keyfence.domains.orders.access_patterns import events, items, orders, rows
from keyfence.domains.orders.bulk_format import OrderRecord
from keyfence.domains.orders.model import is_alive, row_of
from keyfence.domains.products.access_patterns import product_revisions, products, sku_claims
from keyfence.domains.products.bulk import ProductRecord
from keyfence.domains.products.model import claim_of
from keyfence.domains.sales.sales import MonthlySales, ProductMonth, monthly_sales, sales_deltas
from keyfence.domains.stores.access_patterns import stores
from keyfence.domains.users.access_patterns import email_claims, user_tallies, users
from keyfence.domains.users.model import EmailClaim, User, UserCount, UserId
from keyfence.local.demo.shop import ShopData
from keyfence.local.demo.tenants import TENANTS, DemoTenant
from keyfence.store import timestamps
from keyfence.store.embedded_edges import EdgeAttributes, EmbeddedEdges
from keyfence.store.table import MAX_SPLIT_TRANSACTION_WRITES, Table
from keyfence.store.tables import Tables
from keyfence.store.tenant_location import TenantLocation
from keyfence.store.writes import Write, put
from keyfence.tenancy.quotas import Tier
from keyfence.tenancy.repository import TenantRepository
from keyfence.tenancy.tenant import Tenant, TenantStatus
from keyfence_iam.tenant import TenantId, parse_tenant_id


async def write_shop(table: Table, trade: ShopData) -> None:
    """Said again, it makes the same items again: what was interrupted is made whole.

    What stands in no list comes first: engines are slower the more there is in their indexes. The journal comes last
    and at once, since what is told of the bin is told anew each time."""
    writes = sorted(_writes(trade), key=lambda write: len(write.entity.keys))
    for start in range(0, len(writes), MAX_SPLIT_TRANSACTION_WRITES):
        await table.write(*writes[start : start + MAX_SPLIT_TRANSACTION_WRITES])
    await table.write(*(put(activities, one) for one in trade.journal()))


def _writes(trade: ShopData) -> Iterator[Write[Any]]:
    yield from (put(categories, category) for category in trade.categories())
    yield from (put(customers, customer) for customer in trade.customers())
    yield from (put(stores, store) for store in trade.stores())
    for product in trade.products():
        yield from _product(product)
    made = trade.orders()
    for order in made:
        yield from _order(order)
    yield from (put(monthly_sales, sales) for sales in _sales(made))


def _product(whole: ProductRecord) -> Iterator[Write[Any]]:
    yield put(products, whole.product)
    yield put(sku_claims, claim_of(whole.product))
    yield from (put(product_revisions, revision) for revision in whole.revisions)


def _order(whole: OrderRecord) -> Iterator[Write[Any]]:
    yield put(orders, whole.order)
    if is_alive(whole.order):
        yield put(rows, row_of(whole.order))
    yield from (put(items, item) for item in whole.items)
    yield from (put(events, event) for event in whole.events)


def _sales(made: Sequence[OrderRecord]) -> Iterator[MonthlySales]:
    totals: Counter[ProductMonth] = Counter()
    for whole in made:
        totals.update(sales_deltas(None, whole.order, whole.items))
    for (month, product), total in totals.items():
        yield MonthlySales(id=product, total=total, created_at=month, updated_at=month)


LOADER = "keyfence-dev"


async def load_demo(tables: Tables, tell: Callable[[str], None]) -> None:
    """A tenant's registration comes last, so that an interrupted load is done again and a finished one never."""
    register = TenantRepository(tables.for_control_plane(writes=True), LOADER)
    for name, demo in TENANTS.items():
        tenant = parse_tenant_id(name)
        if await register.find(tenant) is None:
            tell(f"loading the demo tenant {name}")
            table = tables.for_tenant(TenantLocation(tenant=tenant), writes=True)
            await _load(table, demo)
            await write_shop(table, ShopData(demo, timestamps.utc_now()))
            await register.enter(_tenant(tenant, demo))


async def _load(table: Table, demo: DemoTenant) -> None:
    edges = [_edge(demo, group, person) for group in demo.groups for person in demo.groups[group]]
    members = [_user(demo, person, edges) for person in demo.people]
    await table.write(
        *(put(users, user) for user in members),
        *(put(email_claims, _claim(user)) for user in members),
        put(user_tallies, _tally(members)),
        *(put(groups, _group(demo, name, edges)) for name in demo.groups),
        *(put(memberships, edge) for edge in edges),
    )


def _edge(demo: DemoTenant, group: str, person: str) -> Membership:
    joined = max(_founded(demo, group), demo.arrival(person))
    first = demo.groups[group][0] == person
    return Membership(
        user_id=MemberId(demo.user_id(person)),
        group_id=_group_id(demo, group),
        role=GroupRole.MANAGER if first else GroupRole.MEMBER,
        created_at=joined,
        updated_at=joined,
    )


def _user(demo: DemoTenant, person: str, edges: Sequence[Membership]) -> User:
    id, came = demo.user_id(person), demo.arrival(person)
    role = {0: Role.OWNER, 1: Role.ADMIN}.get(demo.people.index(person), Role.MEMBER)
    return User(
        id=UserId(id),
        email=demo.email(person),
        name=person,
        role=role,
        created_at=came,
        updated_at=came,
        embedded_edges=EmbeddedEdges({edge.group_id: edge.attributes for edge in edges if edge.user_id == id}),
    )


def _claim(user: User) -> EmailClaim:
    return EmailClaim(email=user.email, user_id=user.id, created_at=user.created_at, updated_at=user.created_at)


def _tally(members: Sequence[User]) -> UserCount:
    first = min(user.created_at for user in members)
    return UserCount(total=len(members), created_at=first, updated_at=first, version=len(members))


def _group(demo: DemoTenant, name: str, edges: Sequence[Membership]) -> Group:
    id, founded = _group_id(demo, name), _founded(demo, name)
    entries: dict[str, EdgeAttributes] = {edge.user_id: edge.attributes for edge in edges if edge.group_id == id}
    return Group(
        id=id,
        name=name,
        created_at=founded,
        updated_at=founded,
        member_count=len(entries),
        embedded_edges=EmbeddedEdges(entries),
    )


def _group_id(demo: DemoTenant, name: str) -> GroupId:
    return GroupId(demo.id_of("grp", name, _founded(demo, name)))


def _founded(demo: DemoTenant, name: str) -> datetime:
    return demo.arrival(demo.people[0]) + timedelta(hours=1 + list(demo.groups).index(name))


def _tenant(id: TenantId, demo: DemoTenant) -> Tenant:
    made = demo.arrival(demo.people[0])
    return Tenant(
        id=id,
        name=demo.name,
        tier=Tier(demo.tier),
        status=TenantStatus.ACTIVE,
        issuer=LOCAL_ISSUER,
        owner_id=demo.owner,
        created_at=made,
        updated_at=made,
    )
