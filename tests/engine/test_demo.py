"""The demo tenants are as true as if their users had made them, and are loaded once: whole, or not at all."""

from collections import Counter
from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Any

import pytest

from keyfence.domains.categories.repository import CategoryRepository
from keyfence.domains.customers.access_patterns import newest_customers
from keyfence.domains.groups.access_patterns import groups_of_user, members_of_group
from keyfence.domains.groups.memberships import MembershipRepository
from keyfence.domains.groups.repository import GroupRepository
from keyfence.domains.orders.access_patterns import deleted_orders, open_orders, orders_of_region, review_queue
from keyfence.domains.orders.model import is_alive, is_open
from keyfence.domains.products.access_patterns import products_in_category
from keyfence.domains.products.repository import ProductRepository
from keyfence.domains.sales.sales import ProductMonth, SalesRepository, sales_deltas
from keyfence.domains.stores.geohash import Circle
from keyfence.domains.stores.repository import StoreRepository
from keyfence.domains.users.access_patterns import user_tallies
from keyfence.domains.users.repository import UserRepository
from keyfence.errors import KeyfenceError
from keyfence.local.demo.load import load_demo
from keyfence.local.demo.shop import ShopData
from keyfence.local.demo.tenants import TENANTS
from keyfence.store import timestamps
from keyfence.store.embedded_edges import EmbeddedEdges
from keyfence.tenancy.cache import TenantCache
from keyfence_iam.gate.faults import Fault
from keyfence_iam.tenant import parse_tenant_id
from tests.stack import World


@pytest.fixture(scope="module")
async def loaded(world: World) -> World:
    """By the second attempt: the first one dies in the middle, and leaves a tenant that nobody can be."""
    world.gate.faults = [Fault(kind="error", operation="TransactWriteItems", key_prefix="TENANT#acme#STORE#")]
    with pytest.raises(KeyfenceError):
        await load_demo(world.tables, lambda _: None)
    world.gate.faults = ()
    assert await TenantCache(world.tables.for_control_plane(writes=False)).find(parse_tenant_id("acme")) is None
    said: list[str] = []
    await load_demo(world.tables, said.append)
    assert said == [f"loading the demo tenant {name}" for name in TENANTS]
    return world


async def test_it_is_not_loaded_again(loaded: World) -> None:
    said: list[str] = []
    await load_demo(loaded.tables, said.append)
    assert said == []


async def ids(found: AsyncIterator[Any]) -> set[str]:
    return {one.id async for one in found}


@pytest.mark.parametrize("name", TENANTS)
async def test_heads_counts_and_claims_agree_with_the_edges(loaded: World, name: str) -> None:
    table, demo = loaded.table(parse_tenant_id(name)), TENANTS[name]
    found = (await GroupRepository(table).by_name(first=50, after=None)).items
    assert {group.name: group.member_count for group in found} == {
        group: len(people) for group, people in demo.groups.items()
    }
    for listed in found:
        group = await GroupRepository(table).get(listed.id)
        known = await MembershipRepository(table).of_group(
            group.id, group.embedded_edges or EmbeddedEdges(), first=50, after=None
        )
        assert known.items == (await table.page(members_of_group, first=50, group_id=group.id)).items
    tallied = await table.find(user_tallies.get())
    assert tallied
    assert tallied.total == len(demo.people)
    for person in demo.people:
        user = await UserRepository(table).find_by_email(demo.email(person))
        assert user
        whole = await UserRepository(table).get(user.id)
        known = await MembershipRepository(table).of_user(
            user.id, whole.embedded_edges or EmbeddedEdges(), first=50, after=None
        )
        assert known.items == (await table.page(groups_of_user, first=50, user_id=user.id)).items


@pytest.mark.parametrize("name", TENANTS)
async def test_every_list_has_what_the_orders_say(loaded: World, name: str) -> None:
    table, trade = loaded.table(parse_tenant_id(name)), ShopData(TENANTS[name], timestamps.utc_now())
    made = [one.order for one in trade.orders()]
    alive = [order for order in made if is_alive(order)]
    assert await ids(table.iterate(newest_customers)) == {customer.id for customer in trade.customers()}
    assert await ids(table.iterate(open_orders)) == {order.id for order in alive if is_open(order)}
    assert await ids(table.iterate(review_queue)) == {order.id for order in alive if order.flagged_at}
    assert await ids(table.iterate(deleted_orders)) == {order.id for order in made if order.deleted_at}
    for region in trade.shop.regions:
        assert await ids(table.iterate(orders_of_region, region=region)) == {
            order.id for order in alive if order.region == region
        }


@pytest.mark.parametrize("name", TENANTS)
async def test_counts_and_sales_are_the_sums_of_what_they_count(loaded: World, name: str) -> None:
    table, trade = loaded.table(parse_tenant_id(name)), ShopData(TENANTS[name], timestamps.utc_now())
    found = await CategoryRepository(table).under()
    assert {category.path for category in found} == set(trade.shop.categories)
    for category in found:
        inside = await ids(table.iterate(products_in_category, category=category.path))
        assert len(inside) == category.product_count
    sold: Counter[ProductMonth] = Counter()
    for one in trade.orders():
        sold.update(sales_deltas(None, one.order, one.items))
    for month in {moment for moment, _ in sold}:
        top = await SalesRepository(table).top(f"{month:%Y-%m}", first=100)
        assert {ProductMonth(month, one.id): one.total for one in top} == {
            key: total for key, total in sold.items() if key.month == month
        }


async def test_products_are_found_by_their_sku_and_stores_by_their_place(loaded: World) -> None:
    table = loaded.table(parse_tenant_id("acme"))
    pen = await ProductRepository(table, "somebody").find_by_sku("PP-2")
    assert pen
    assert (pen.name, pen.price, pen.revision) == ("Fountain pen", Decimal(34), 2)
    near = await StoreRepository(table).near(Circle(latitude=52.52, longitude=13.41, radius_km=300), first=5)
    assert [one.store.name for one in near] == ["Berlin", "Hamburg"]
