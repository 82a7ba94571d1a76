"""Orders are placed completely or not at all, are in the lists of their status, and change status by the rules."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import partial
from typing import Any

import pytest

from keyfence.domains.orders.idempotency_key import RETENTION
from keyfence.domains.orders.line_items import MAX_LINES, ProductId, RequestedLine
from keyfence.domains.orders.model import CustomerId, Order, OrderId, OrderRow, OrderStatus, order_row
from keyfence.errors import BadInput, Conflict, KeyfenceError, NotFound
from keyfence.store.ids import new_id
from keyfence.store.pagination import Page
from keyfence.store.writes import Write
from keyfence_iam.tenant import TenantId
from tests.data.orders import INK, PEN, YEN, Shop
from tests.stack import ServiceStack

STATUS_PATH = (OrderStatus.CONFIRMED, OrderStatus.PROCESSING, OrderStatus.SHIPPED, OrderStatus.DELIVERED)


@pytest.fixture
async def shop(stack: ServiceStack, tenant: TenantId) -> Shop:
    return await Shop.opened(stack.table(tenant))


async def test_an_order_is_placed_in_one_transaction_and_comes_back_in_one_query(
    shop: Shop, stack: ServiceStack
) -> None:
    stack.take_calls()
    order = await shop.place(RequestedLine(PEN, 3), RequestedLine(INK, 10_000), RequestedLine(PEN, 2))
    assert [call.operation for call in stack.take_calls()] == ["TransactWriteItems"]
    assert (order.totals.total, order.totals.currency, order.totals.item_count) == (Decimal("705.5"), "EUR", 3)
    assert (found := await shop.orders.find_with_items(order.id)) is not None
    assert [call.operation for call in stack.take_calls()] == ["Query"]
    assert found[0] == order
    assert [(item.position, item.sku, item.quantity, item.unit_price) for item in found[1]] == [
        (1, "PEN", 3, Decimal("1.10")),
        (2, "INK", 10_000, Decimal("0.07")),
        (3, "PEN", 2, Decimal("1.10")),
    ]
    (event,) = await shop.parts.history(order.id)
    assert (event.kind, event.actor, event.from_status, event.to_status) == ("placed", "clerk", None, order.status)


async def test_the_largest_order_with_an_idempotency_key_fits_into_one_transaction(shop: Shop) -> None:
    order = await shop.place(*[RequestedLine(PEN, 1)] * MAX_LINES, idempotency_key="large")
    ((*items,),) = await shop.parts.items_of([order])
    assert [item.position for item in items] == list(range(1, MAX_LINES + 1))
    found = await shop.orders.find_with_items(order.id)
    assert found == (order, items)


BAD_ORDERS: dict[str, tuple[dict[str, Any], str]] = {
    "no items": ({"lines": ()}, "items"),
    "too many items": ({"lines": [RequestedLine(PEN, 1)] * (MAX_LINES + 1)}, "items"),
    "nothing of a product": ({"lines": [RequestedLine(PEN, 1), RequestedLine(PEN, 0)]}, "quantity"),
    "less than nothing": ({"lines": [RequestedLine(PEN, -1)]}, "quantity"),
    "too much of a product": ({"lines": [RequestedLine(PEN, 10_001)]}, "quantity"),
    "an unknown product": ({"lines": [RequestedLine(PEN, 1), RequestedLine(ProductId("prd_no"), 1)]}, "productId"),
    "two currencies": ({"lines": [RequestedLine(PEN, 1), RequestedLine(YEN, 1)]}, "items"),
    "an unknown customer": ({"customer_id": CustomerId(new_id("cus"))}, "customerId"),
    "a blank region": ({"region": " "}, "region"),
    "a region too long": ({"region": "n" * 65}, "region"),
    "a blank key": ({"idempotency_key": ""}, "idempotencyKey"),
    "a key too long": ({"idempotency_key": "k" * 201}, "idempotencyKey"),
}


@pytest.mark.parametrize("name", BAD_ORDERS)
async def test_a_bad_order_is_refused_by_the_name_of_its_field_and_leaves_nothing(shop: Shop, name: str) -> None:
    arguments, field = BAD_ORDERS[name]
    with pytest.raises(BadInput) as raised:
        await shop.place(**arguments)
    assert raised.value.extensions["field"] == field
    assert not any((await shop.lists()).values())


async def test_an_idempotency_key_returns_the_same_order_for_the_same_request_only(shop: Shop) -> None:
    order = await shop.place(idempotency_key="k")
    assert await shop.place(idempotency_key="k") == order
    assert (await shop.place(idempotency_key="K")).id != order.id
    for other in (
        {"lines": [RequestedLine(PEN, 2)]},
        {"region": "south"},
        {"lines": [RequestedLine(PEN, 1), RequestedLine(INK, 1)]},
    ):
        with pytest.raises(Conflict) as raised:
            await shop.place(idempotency_key="k", **other)
        assert raised.value.extensions == {"field": "idempotencyKey"}
    confirmed = await shop.orders.transition(order.id, OrderStatus.CONFIRMED)
    assert await shop.place(idempotency_key="k") == confirmed


async def test_an_idempotency_key_is_free_after_a_week_even_if_its_item_still_exists(shop: Shop) -> None:
    order = await shop.place(idempotency_key="k")
    week = order.created_at + RETENTION
    assert (await replace(shop, now=lambda: week - timedelta(seconds=1)).place(idempotency_key="k")).id == order.id
    later = replace(shop, now=lambda: week + timedelta(seconds=1))
    later_orders = await asyncio.gather(*(later.place(idempotency_key="k") for _ in range(5)))
    assert len({one.id for one in later_orders}) == 1
    assert later_orders[0].id != order.id


async def test_the_idempotency_key_of_a_deleted_order_is_refused_until_the_order_is_restored(shop: Shop) -> None:
    order = await shop.place(idempotency_key="k")
    await shop.bin.delete(order.id)
    with pytest.raises(Conflict, match="was deleted; restore it") as raised:
        await shop.place(idempotency_key="k")
    assert raised.value.extensions == {"field": "idempotencyKey", "orderId": order.id}
    with pytest.raises(Conflict, match="another order"):
        await shop.place(RequestedLine(PEN, 2), idempotency_key="k")
    assert await shop.place(idempotency_key="k2") != order
    restored = await shop.bin.restore(order.id)
    assert await shop.place(idempotency_key="k") == restored


async def test_fifty_requests_with_one_idempotency_key_place_one_order(shop: Shop) -> None:
    placed = await asyncio.gather(*(shop.place(RequestedLine(INK, 7), idempotency_key="once") for _ in range(50)))
    assert len({order.id for order in placed}) == 1
    assert {name: len(ids) for name, ids in (await shop.lists()).items()} == {
        "customer": 1, "open": 1, "region": 1, "review": 0, "bin": 0,
    }  # fmt: skip


async def test_an_order_is_open_until_it_is_delivered_and_moves_between_states(shop: Shop) -> None:
    order = await shop.place()
    for status in STATUS_PATH:
        before, order = order, await shop.orders.transition(order.id, status, note=f"to {status}")
        assert (order.status, order.version) == (status, before.version + 1)
        old, new = [
            (await shop.orders.of_customer(shop.customer, status=one, first=9, after=None)).items
            for one in (before.status, status)
        ]
        assert (old, new) == ((), (order_row(order),))
        assert ((await shop.lists())["open"] == []) == (status is OrderStatus.DELIVERED)
    history = await shop.parts.history(order.id)
    assert [(event.from_status, event.to_status) for event in history] == [
        (None, OrderStatus.PENDING),
        *zip((OrderStatus.PENDING, *STATUS_PATH), STATUS_PATH, strict=False),
    ]
    assert [event.note for event in history] == [None, *(f"to {status}" for status in STATUS_PATH)]
    (row,) = (await shop.orders.of_region("north", first=9, after=None)).items
    assert row == order_row(await shop.orders.get(order.id))


async def test_an_illegal_status_change_is_refused_with_the_legal_ones_and_changes_nothing(shop: Shop) -> None:
    order = await shop.place()
    with pytest.raises(Conflict, match="CONFIRMED, CANCELLED") as raised:
        await shop.orders.transition(order.id, OrderStatus.SHIPPED)
    assert raised.value.extensions == {"status": "PENDING", "allowed": ["CONFIRMED", "CANCELLED"]}
    assert await shop.orders.get(order.id) == order
    assert await shop.kinds(order) == ["placed"]


async def test_a_status_change_with_another_expected_version_is_refused(shop: Shop) -> None:
    order = await shop.place()
    await shop.orders.transition(order.id, OrderStatus.CONFIRMED, expected_version=1)
    with pytest.raises(Conflict) as raised:
        await shop.orders.transition(order.id, OrderStatus.PROCESSING, expected_version=1)
    assert raised.value.extensions == {"version": 2}


async def test_of_concurrent_changes_to_one_status_exactly_one_succeeds(shop: Shop) -> None:
    order = await shop.place()
    steps = (shop.orders.transition(order.id, OrderStatus.CONFIRMED) for _ in range(12))
    outcomes = await asyncio.gather(*steps, return_exceptions=True)
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["Conflict"] * 11 + ["Order"]
    assert await shop.kinds(order) == ["placed", "transitioned"]


async def test_conflicting_status_changes_leave_one_history_that_the_rules_allow(shop: Shop) -> None:
    order = await shop.place()
    wanted = [*STATUS_PATH, OrderStatus.CANCELLED] * 5
    outcomes = await asyncio.gather(*(shop.orders.transition(order.id, to) for to in wanted), return_exceptions=True)
    changed = [outcome for outcome in outcomes if isinstance(outcome, Order)]
    assert all(isinstance(outcome, KeyfenceError) for outcome in outcomes if outcome not in changed)
    history = await shop.parts.history(order.id)
    assert [event.revision for event in history] == list(range(1, len(changed) + 2))
    assert [event.from_status for event in history[1:]] == [event.to_status for event in history[:-1]]
    stored = await shop.orders.get(order.id)
    assert (stored.status, stored.version) == (history[-1].to_status, len(history))
    assert (await shop.orders.of_customer(shop.customer, first=9, after=None)).items == (order_row(stored),)


async def test_additional_writes_of_a_status_change_succeed_or_fail_with_it(shop: Shop) -> None:
    order = await shop.place()
    seen_changes: list[tuple[OrderStatus, OrderStatus]] = []

    async def refused(before: Order, after: Order) -> list[Write[Any]]:
        seen_changes.append((before.status, after.status))
        raise NotFound("not today")

    with pytest.raises(NotFound):
        await shop.orders.transition(order.id, OrderStatus.CONFIRMED, extra_writes=refused)
    assert seen_changes == [(OrderStatus.PENDING, OrderStatus.CONFIRMED)]
    assert await shop.orders.get(order.id) == order


def _return_unchanged(moment: datetime) -> datetime:
    return moment


async def test_orders_of_a_region_are_listed_between_two_days_inclusive(shop: Shop) -> None:
    ends = (time(0), time(23, 59, 59, 999_999))
    days = [datetime.combine(date(2026, 11, day), end, UTC) for day in (1, 2, 3) for end in ends]
    placed = [(await replace(shop, now=partial(_return_unchanged, moment)).place()).id for moment in days]
    await shop.place(region="north west")

    async def between(since: date | None, until: date | None) -> list[OrderId]:
        page = await shop.orders.of_region("north", since=since, until=until, first=100, after=None)
        return [order.id for order in page.items]

    first, second, third = (date(2026, 11, day) for day in (1, 2, 3))
    assert await between(None, None) == placed
    assert await between(second, second) == placed[2:4]
    assert await between(second, None) == placed[2:]
    assert await between(None, first) == placed[:2]
    assert await between(third, first) == []
    assert await between(date.min, date.max) == placed


@pytest.mark.parametrize("size", [1, 7, 100])
async def test_every_list_of_orders_pages_to_the_end(shop: Shop, size: int) -> None:
    placed = [(await shop.place()).id for _ in range(15)]
    lists: dict[str, Callable[[str | None], Awaitable[Page[OrderRow]]]] = {
        "customer": lambda after: shop.orders.of_customer(shop.customer, first=size, after=after),
        "status": lambda after: shop.orders.of_customer(
            shop.customer, status=OrderStatus.PENDING, first=size, after=after
        ),
        "open": lambda after: shop.orders.open_orders(first=size, after=after),
        "region": lambda after: shop.orders.of_region("north", first=size, after=after),
    }
    for name, page_after in lists.items():
        found: list[OrderId] = []
        after: str | None = None
        while True:
            page = await page_after(after)
            found += [order.id for order in page.items]
            if not page.has_next:
                break
            after = page.edges[-1].cursor()
        assert found == (placed if name in {"open", "region"} else placed[::-1]), name


async def test_lines_and_histories_of_many_orders_come_in_one_batch_each(shop: Shop, stack: ServiceStack) -> None:
    placed = [await shop.place(*[RequestedLine(PEN, n)] * n) for n in (1, 2, 3)]
    confirmed = await shop.orders.transition(placed[0].id, OrderStatus.CONFIRMED)
    stack.take_calls()
    items = await shop.parts.items_of([confirmed, *placed[1:]])
    histories = await shop.parts.histories_of([confirmed, *placed[1:]])
    assert [call.operation for call in stack.take_calls()] == ["BatchGetItem", "BatchGetItem"]
    assert [[item.quantity for item in values] for values in items] == [[1], [2, 2], [3, 3, 3]]
    assert [[event.kind for event in values] for values in histories] == [
        ["placed", "transitioned"],
        ["placed"],
        ["placed"],
    ]


async def test_an_unknown_order_is_not_found(shop: Shop) -> None:
    missing_id = OrderId(new_id("ord"))
    assert await shop.orders.find(missing_id) is None
    assert await shop.orders.find_with_items(missing_id) is None
    with pytest.raises(NotFound):
        await shop.orders.transition(missing_id, OrderStatus.CONFIRMED)


async def test_orders_of_another_tenant_are_not_found(stack: ServiceStack) -> None:
    other_shop = await Shop.opened(stack.table(await stack.new_tenant("shopcorp")))
    order = await other_shop.place(idempotency_key="k")
    table = stack.table(await stack.new_tenant("shop"))
    shop = replace(other_shop, table=table)
    assert await shop.orders.find(order.id) is None
    assert not any((await shop.lists()).values())
    with pytest.raises(BadInput):
        await shop.place(idempotency_key="k")
