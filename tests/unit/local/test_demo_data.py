"""What the demo tenants have done is what an import would accept, spread over months, and of two shapes."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from io import BytesIO

import orjson
import pytest

from keyfence.app.domains import load_domains
from keyfence.bulk.importer import check_lines
from keyfence.bulk.lines import encoded
from keyfence.domains.categories import bulk as categories
from keyfence.domains.customers import bulk as customers
from keyfence.domains.orders import bulk as orders
from keyfence.domains.orders.bulk_format import OrderRecord
from keyfence.domains.orders.model import OrderStatus
from keyfence.domains.products import bulk as products
from keyfence.local.demo.shop import ShopData
from keyfence.local.demo.tenants import TENANTS

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
TRADES = {name: ShopData(demo, NOW) for name, demo in TENANTS.items()}


def content(trade: ShopData) -> bytes:
    lines = (
        *map(customers.RECORDS.to_line, trade.customers()),
        *map(categories.RECORDS.to_line, trade.categories()),
        *map(products.RECORDS.to_line, trade.products()),
        *map(orders.RECORDS.to_line, trade.orders()),
    )
    return b"".join(map(encoded, lines))


@pytest.mark.parametrize("name", TRADES)
def test_every_line_of_it_is_good_and_the_same_at_any_time(name: str) -> None:
    trade = TRADES[name]
    assert check_lines(BytesIO(content(trade)), load_domains().record_kinds) > 40
    assert content(trade) == content(ShopData(trade.demo, NOW))
    later = ShopData(trade.demo, NOW + timedelta(days=1)).orders()
    kept = [one for one in trade.orders() if one.order.deleted_at is None]
    assert kept == [one for one in later if one.order.deleted_at is None]


@pytest.mark.parametrize("name", TRADES)
def test_whatever_an_order_names_was_there_before_it(name: str) -> None:
    trade = TRADES[name]
    came = {str(customer.id): customer.created_at for customer in trade.customers()}
    offered = {str(whole.product.id): whole for whole in trade.products()}
    for whole in trade.orders():
        order = whole.order
        assert came[order.customer_id] < order.created_at
        for item in whole.items:
            revisions = offered[item.product_id].revisions
            prices = [one.price for one in revisions if one.created_at <= order.created_at]
            assert item.unit_price == prices[-1]


@pytest.mark.parametrize("name", TRADES)
def test_things_happen_one_after_the_other_and_before_now(name: str) -> None:
    for whole in TRADES[name].orders():
        times = [event.created_at for event in whole.events]
        assert [whole.order.created_at, *times[1:]] == times == sorted(times)
        assert times[-1] <= NOW
        assert [event.revision for event in whole.events] == list(range(1, whole.order.version + 1))


@pytest.mark.parametrize("name", TRADES)
def test_the_journal_tells_the_latest_of_what_happened_to_the_orders(name: str) -> None:
    happened = {
        (event.created_at, f"order.{event.kind}", event.order_id, event.by)
        for whole in TRADES[name].orders()
        for event in whole.events
    }
    told = TRADES[name].journal()
    assert {(one.created_at, one.kind, one.target, one.by) for one in told} == set(sorted(happened)[-50:])
    assert len({one.id for one in told}) == 50
    assert all(one.ttl == int((one.created_at + timedelta(days=90)).timestamp()) for one in told)
    assert told == ShopData(TENANTS[name], NOW).journal()


def test_the_journal_tells_what_an_order_was_and_what_it_is() -> None:
    told = {one.kind: orjson.loads(one.detail) for one in TRADES["acme"].journal()}
    assert set(told) >= {"order.placed", "order.transitioned", "order.deleted"}
    assert set(told["order.placed"]["after"]) >= {"customerId", "status", "total"}
    assert told["order.transitioned"]["before"]["status"] != told["order.transitioned"]["after"]["status"]
    assert told["order.deleted"]["before"] == {"deletedAt": None}


def test_what_is_older_than_ninety_days_is_not_in_the_journal() -> None:
    told = ShopData(TENANTS["acme"], NOW + timedelta(days=365)).journal()
    assert {one.kind for one in told} == {"order.deleted"}


def months(made: list[OrderRecord]) -> Counter[str]:
    return Counter(f"{one.order.created_at:%Y-%m}" for one in made)


def test_acme_has_a_few_hundred_orders_in_every_state_region_and_month() -> None:
    made = TRADES["acme"].orders()
    assert len(made) >= 200
    assert {one.order.status for one in made} == set(OrderStatus)
    assert {one.order.region for one in made} == {"north", "east", "south", "west"}
    assert len(months(made)) >= 8
    assert min(months(made).values()) >= 10
    assert sum(one.order.flagged_at is not None for one in made) >= 5
    assert sum(one.order.claimed_at is not None for one in made) >= 5
    assert sum(one.order.deleted_at is not None for one in made) >= 3
    assert any(len(one.revisions) > 2 for one in TRADES["acme"].products())


def test_globex_is_a_shop_of_another_shape() -> None:
    acme, globex = TRADES["acme"], TRADES["globex"]
    assert (acme.shop.currency, globex.shop.currency) == ("EUR", "USD")
    assert len(globex.customers()) < len(acme.customers()) / 5
    assert len(globex.orders()) < len(acme.orders()) / 3
    pieces = [max(item.quantity for one in trade.orders() for item in one.items) for trade in (acme, globex)]
    assert pieces[1] > 10 * pieces[0]
    assert not {whole.product.id for whole in acme.products()} & {whole.product.id for whole in globex.products()}
