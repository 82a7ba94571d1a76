"""Demo tenants are loaded once and completely, with every index, count and claim that the API would have written."""

from collections import Counter
from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Any

import pytest

from keyfence.cli.dev_welcome import owner_key
from keyfence.domains.categories.repository import CategoryRepository
from keyfence.domains.customers.access_patterns import newest_customers
from keyfence.domains.groups.access_patterns import groups_of_user, members_of_group
from keyfence.domains.groups.memberships import MembershipRepository
from keyfence.domains.groups.repository import GroupRepository
from keyfence.domains.orders.access_patterns import deleted_orders, open_orders, orders_of_region, review_queue
from keyfence.domains.orders.model import is_alive, is_open
from keyfence.domains.products.access_patterns import products_in_category
from keyfence.domains.products.repository import ProductRepository
from keyfence.domains.sales.monthly_sales import ProductMonth, SalesRepository, sales_changes
from keyfence.domains.stores.geohash import Circle
from keyfence.domains.stores.repository import StoreRepository
from keyfence.domains.users.access_patterns import user_counts
from keyfence.domains.users.repository import UserRepository
from keyfence.errors import KeyfenceError
from keyfence.local.demo.load import load_demo, write_shop
from keyfence.local.demo.shop import ShopData
from keyfence.local.demo.tenants import TENANTS
from keyfence.store import timestamps
from keyfence.store.embedded_edges import EmbeddedEdges
from keyfence.tenancy.tenant_cache import TenantCache
from keyfence_iam.gate.fault_definition import Fault
from keyfence_iam.tenant import TenantId, parse_tenant_id
from tests.stack import ServiceStack


@pytest.fixture(scope="module")
async def loaded(stack: ServiceStack) -> ServiceStack:
    """Loads the demo tenants. The first attempt fails halfway and must leave no registered tenant."""
    stack.gate.faults = [Fault(kind="error", operation="TransactWriteItems", key_prefix="TENANT#acme#STORE#")]
    with pytest.raises(KeyfenceError):
        await load_demo(stack.tables, lambda _: None)
    stack.gate.faults = ()
    assert await TenantCache(stack.tables.for_control_plane(may_write=False)).find(parse_tenant_id("acme")) is None
    progress: list[str] = []
    await load_demo(stack.tables, progress.append)
    assert progress == [f"loading the demo tenant {name}" for name in TENANTS]
    return stack


async def test_a_loaded_tenant_is_not_loaded_again(loaded: ServiceStack) -> None:
    progress: list[str] = []
    await load_demo(loaded.tables, progress.append)
    assert progress == []


async def ids(models: AsyncIterator[Any]) -> set[str]:
    return {model.id async for model in models}


@pytest.mark.parametrize("name", TENANTS)
async def test_embedded_edges_counts_and_claims_agree_with_the_memberships(loaded: ServiceStack, name: str) -> None:
    table, tenant = loaded.table(parse_tenant_id(name)), TENANTS[name]
    found = (await GroupRepository(table).by_name(first=50, after=None)).items
    assert {group.name: group.member_count for group in found} == {
        group: len(members) for group, members in tenant.groups.items()
    }
    for listed in found:
        group = await GroupRepository(table).get(listed.id)
        listed_page = await MembershipRepository(table).of_group(
            group.id, group.embedded_edges or EmbeddedEdges(), first=50, after=None
        )
        assert listed_page.items == (await table.page(members_of_group, first=50, group_id=group.id)).items
    user_count = await table.find(user_counts.get())
    assert user_count
    assert user_count.total == len(tenant.users)
    for user_name in tenant.users:
        user = await UserRepository(table).find_by_email(tenant.email(user_name))
        assert user
        stored_user = await UserRepository(table).get(user.id)
        listed_page = await MembershipRepository(table).of_user(
            user.id, stored_user.embedded_edges or EmbeddedEdges(), first=50, after=None
        )
        assert listed_page.items == (await table.page(groups_of_user, first=50, user_id=user.id)).items


@pytest.mark.parametrize("name", TENANTS)
async def test_every_index_has_the_orders_that_belong_there(loaded: ServiceStack, name: str) -> None:
    table, shop = loaded.table(parse_tenant_id(name)), ShopData(TENANTS[name], timestamps.utc_now())
    all_orders = [record.order for record in shop.orders()]
    alive = [order for order in all_orders if is_alive(order)]
    assert await ids(table.iterate(newest_customers)) == {customer.id for customer in shop.customers()}
    assert await ids(table.iterate(open_orders)) == {order.id for order in alive if is_open(order)}
    assert await ids(table.iterate(review_queue)) == {order.id for order in alive if order.flagged_at}
    assert await ids(table.iterate(deleted_orders)) == {order.id for order in all_orders if order.deleted_at}
    for region in shop.shop.regions:
        assert await ids(table.iterate(orders_of_region, region=region)) == {
            order.id for order in alive if order.region == region
        }


@pytest.mark.parametrize("name", TENANTS)
async def test_product_counts_and_sales_are_correct_sums(loaded: ServiceStack, name: str) -> None:
    table, shop = loaded.table(parse_tenant_id(name)), ShopData(TENANTS[name], timestamps.utc_now())
    found = await CategoryRepository(table).subtree()
    assert {category.path for category in found} == set(shop.shop.categories)
    for category in found:
        inside = await ids(table.iterate(products_in_category, category=category.path))
        assert len(inside) == category.product_count
    expected_sales: Counter[ProductMonth] = Counter()
    for record in shop.orders():
        expected_sales.update(sales_changes(None, record.order, record.items))
    for month in {month for month, _ in expected_sales}:
        top = await SalesRepository(table).top(f"{month:%Y-%m}", first=100)
        assert {ProductMonth(month, sales.id): sales.total for sales in top} == {
            key: total for key, total in expected_sales.items() if key.month == month
        }


async def test_products_are_found_by_sku_and_stores_by_location(loaded: ServiceStack) -> None:
    table = loaded.table(parse_tenant_id("acme"))
    pen = await ProductRepository(table, "somebody").find_by_sku("PP-2")
    assert pen
    assert (pen.name, pen.price, pen.revision) == ("Fountain pen", Decimal(34), 2)
    near = await StoreRepository(table).near(Circle(latitude=52.52, longitude=13.41, radius_km=300), first=5)
    assert [result.store.name for result in near] == ["Berlin", "Hamburg"]


@pytest.mark.parametrize("name", TENANTS)
async def test_the_item_that_the_welcome_text_reads_exists(loaded: ServiceStack, name: str) -> None:
    key = owner_key(name, TENANTS[name])
    client = loaded.engine_client()
    item = client.get_item(TableName=loaded.settings.table, Key=key)["Item"]
    assert item["email"] == {"S": TENANTS[name].email(TENANTS[name].users[0])}


ACTIVITY = "{ activity(first: 100) { edges { node { id kind target by } } } }"


@pytest.mark.one_engine
async def test_the_activity_log_is_listed_newest_first(stack: ServiceStack, tenant: TenantId) -> None:
    shop = ShopData(TENANTS["globex"], timestamps.utc_now())
    await write_shop(stack.table(tenant), shop)
    listed = [edge["node"] for edge in (await stack.api_client(tenant).data(ACTIVITY))["activity"]["edges"]]
    written = sorted(shop.activities(), key=lambda activity: activity.created_at, reverse=True)
    assert written
    assert [(node["id"], node["kind"], node["target"], node["by"]) for node in listed] == [
        (activity.id, activity.kind, activity.target, activity.actor) for activity in written
    ]
