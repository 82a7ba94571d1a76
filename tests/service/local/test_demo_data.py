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
SHOPS = {name: ShopData(demo, NOW) for name, demo in TENANTS.items()}


def content(shop: ShopData) -> bytes:
    lines = (
        *map(customers.RECORD_KIND.to_line, shop.customers()),
        *map(categories.RECORD_KIND.to_line, shop.categories()),
        *map(products.RECORD_KIND.to_line, shop.products()),
        *map(orders.RECORD_KIND.to_line, shop.orders()),
    )
    return b"".join(map(encode_line, lines))


@pytest.mark.parametrize("name", SHOPS)
def test_every_record_can_be_imported_and_is_the_same_at_any_time(name: str) -> None:
    shop = SHOPS[name]
    assert check_lines(BytesIO(content(shop)), load_domains().record_kinds) > 40
    assert content(shop) == content(ShopData(shop.tenant, NOW))
    later = ShopData(shop.tenant, NOW + timedelta(days=1)).orders()
    remaining = [one for one in shop.orders() if one.order.deleted_at is None]
    assert remaining == [one for one in later if one.order.deleted_at is None]


@pytest.mark.parametrize("name", SHOPS)
def test_an_order_refers_only_to_customers_and_prices_that_are_older(name: str) -> None:
    shop = SHOPS[name]
    joined = {str(customer.id): customer.created_at for customer in shop.customers()}
    records = {str(record.product.id): record for record in shop.products()}
    for record in shop.orders():
        order = record.order
        assert joined[order.customer_id] < order.created_at
        for item in record.items:
            revisions = records[item.product_id].revisions
            prices = [one.price for one in revisions if one.created_at <= order.created_at]
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
    assert {(one.created_at, one.kind, one.target, one.actor) for one in activities} == set(sorted(events)[-50:])
    assert len({one.id for one in activities}) == 50
    assert all(one.ttl == int((one.created_at + timedelta(days=90)).timestamp()) for one in activities)
    assert activities == ShopData(TENANTS[name], NOW).activities()


def test_an_entry_of_the_activity_log_has_the_values_before_and_after() -> None:
    activities = {one.kind: orjson.loads(one.detail) for one in SHOPS["acme"].activities()}
    assert set(activities) >= {"order.placed", "order.transitioned", "order.deleted"}
    assert set(activities["order.placed"]["after"]) >= {"customerId", "status", "total"}
    assert activities["order.transitioned"]["before"]["status"] != activities["order.transitioned"]["after"]["status"]
    assert activities["order.deleted"]["before"] == {"deletedAt": None}


def test_the_activity_log_has_nothing_older_than_ninety_days() -> None:
    activities = ShopData(TENANTS["acme"], NOW + timedelta(days=365)).activities()
    assert {one.kind for one in activities} == {"order.deleted"}


def months(made: list[OrderRecord]) -> Counter[str]:
    return Counter(f"{one.order.created_at:%Y-%m}" for one in made)


def test_acme_has_a_few_hundred_orders_in_every_state_region_and_month() -> None:
    made = SHOPS["acme"].orders()
    assert len(made) >= 200
    assert {one.order.status for one in made} == set(OrderStatus)
    assert {one.order.region for one in made} == {"north", "east", "south", "west"}
    assert len(months(made)) >= 8
    assert min(months(made).values()) >= 10
    assert sum(one.order.flagged_at is not None for one in made) >= 5
    assert sum(one.order.claimed_at is not None for one in made) >= 5
    assert sum(one.order.deleted_at is not None for one in made) >= 3
    assert any(len(one.revisions) > 2 for one in SHOPS["acme"].products())


def test_globex_has_few_customers_and_large_quantities() -> None:
    acme, globex = SHOPS["acme"], SHOPS["globex"]
    assert (acme.shop.currency, globex.shop.currency) == ("EUR", "USD")
    assert len(globex.customers()) < len(acme.customers()) / 5
    assert len(globex.orders()) < len(acme.orders()) / 3
    pieces = [max(item.quantity for one in shop.orders() for item in one.items) for shop in (acme, globex)]
    assert pieces[1] > 10 * pieces[0]
    assert not {record.product.id for record in acme.products()} & {record.product.id for record in globex.products()}
