"""Demo data would pass an import, covers months of orders, and differs between the two tenants."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from io import BytesIO

import orjson
import pytest

from keyfence.app.domain_loading import load_domains
from keyfence.bulk.importer import check_lines
from keyfence.bulk.json_lines import encode_line
from keyfence.domains.categories import bulk as categories
from keyfence.domains.customers import bulk as customers
from keyfence.domains.orders import bulk as orders
from keyfence.domains.orders.bulk_record import OrderRecord
from keyfence.domains.orders.model import OrderStatus
from keyfence.domains.products import bulk as products
from keyfence.local.demo.shop import ShopData
from keyfence.local.demo.tenants import TENANTS

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
SHOPS = {name: ShopData(tenant, NOW) for name, tenant in TENANTS.items()}


def content(shop: ShopData) -> bytes:
    lines = (
        *map(customers.RECORD_KIND.to_line, shop.customers()),
        *map(categories.RECORD_KIND.to_line, shop.categories()),
        *map(products.RECORD_KIND.to_line, shop.products()),
        *map(orders.RECORD_KIND.to_line, shop.orders()),
    )
    return b"".join(map(encode_line, lines))


@pytest.mark.parametrize("name", SHOPS)
def test_every_record_can_be_imported_and_is_the_same_whenever_it_is_made(name: str) -> None:
    shop = SHOPS[name]
    assert check_lines(BytesIO(content(shop)), load_domains().record_kinds) > 40
    assert content(shop) == content(ShopData(shop.tenant, NOW))
    later = ShopData(shop.tenant, NOW + timedelta(days=1)).orders()
    remaining = [record for record in shop.orders() if record.order.deleted_at is None]
    assert remaining == [record for record in later if record.order.deleted_at is None]


@pytest.mark.parametrize("name", SHOPS)
def test_an_order_refers_only_to_customers_and_prices_that_are_older(name: str) -> None:
    shop = SHOPS[name]
    joined_at = {str(customer.id): customer.created_at for customer in shop.customers()}
    products_by_id = {str(record.product.id): record for record in shop.products()}
    for record in shop.orders():
        order = record.order
        assert joined_at[order.customer_id] < order.created_at
        for item in record.items:
            revisions = products_by_id[item.product_id].revisions
            prices = [revision.price for revision in revisions if revision.created_at <= order.created_at]
            assert item.unit_price == prices[-1]


@pytest.mark.parametrize("name", SHOPS)
def test_events_are_in_order_and_in_the_past(name: str) -> None:
    for record in SHOPS[name].orders():
        times = [event.created_at for event in record.events]
        assert [record.order.created_at, *times[1:]] == times == sorted(times)
        assert times[-1] <= NOW
        assert [event.revision for event in record.events] == list(range(1, record.order.version + 1))


@pytest.mark.parametrize("name", SHOPS)
def test_the_activity_log_has_the_newest_events_of_the_orders(name: str) -> None:
    events = {
        (event.created_at, f"order.{event.kind}", event.order_id, event.actor)
        for record in SHOPS[name].orders()
        for event in record.events
    }
    activities = SHOPS[name].activities()
    assert {(entry.created_at, entry.kind, entry.target, entry.actor) for entry in activities} == set(
        sorted(events)[-50:]
    )
    assert len({entry.id for entry in activities}) == 50
    assert all(entry.ttl == int((entry.created_at + timedelta(days=90)).timestamp()) for entry in activities)
    assert activities == ShopData(TENANTS[name], NOW).activities()


def test_an_entry_of_the_activity_log_has_the_values_before_and_after() -> None:
    activities = {entry.kind: orjson.loads(entry.detail) for entry in SHOPS["acme"].activities()}
    assert set(activities) >= {"order.placed", "order.transitioned", "order.deleted"}
    assert set(activities["order.placed"]["after"]) >= {"customerId", "status", "total"}
    assert activities["order.transitioned"]["before"]["status"] != activities["order.transitioned"]["after"]["status"]
    assert activities["order.deleted"]["before"] == {"deletedAt": None}


def test_the_activity_log_has_nothing_older_than_ninety_days() -> None:
    activities = ShopData(TENANTS["acme"], NOW + timedelta(days=365)).activities()
    assert {entry.kind for entry in activities} == {"order.deleted"}


def orders_by_month(records: list[OrderRecord]) -> Counter[str]:
    return Counter(f"{record.order.created_at:%Y-%m}" for record in records)


def test_acme_has_at_least_200_orders_with_every_status_region_and_month() -> None:
    records = SHOPS["acme"].orders()
    assert len(records) >= 200
    assert {record.order.status for record in records} == set(OrderStatus)
    assert {record.order.region for record in records} == {"north", "east", "south", "west"}
    assert len(orders_by_month(records)) >= 8
    assert min(orders_by_month(records).values()) >= 10
    assert sum(record.order.flagged_at is not None for record in records) >= 5
    assert sum(record.order.claimed_at is not None for record in records) >= 5
    assert sum(record.order.deleted_at is not None for record in records) >= 3
    assert any(len(product.revisions) > 2 for product in SHOPS["acme"].products())


def test_globex_has_few_customers_and_large_quantities() -> None:
    acme, globex = SHOPS["acme"], SHOPS["globex"]
    assert (acme.shop.currency, globex.shop.currency) == ("EUR", "USD")
    assert len(globex.customers()) < len(acme.customers()) / 5
    assert len(globex.orders()) < len(acme.orders()) / 3
    largest_quantities = [
        max(item.quantity for record in shop.orders() for item in record.items) for shop in (acme, globex)
    ]
    assert largest_quantities[1] > 10 * largest_quantities[0]
    assert not {record.product.id for record in acme.products()} & {record.product.id for record in globex.products()}
