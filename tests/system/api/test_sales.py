"""The sales ranking through the API: an order counts once, from its confirmation until it is cancelled."""

import asyncio
from collections import Counter
from datetime import UTC, datetime

from keyfence_iam.gate.fault_definition import Fault
from tests.data.order_requests import TRANSITION, new_customer, new_product, order_input, place_order
from tests.stack import ApiClient, ServiceStack

TOP_PRODUCTS = "query($m: String!, $n: Int) { topProducts(month: $m, first: $n) { quantity product { sku } } }"


def this_month() -> str:
    return f"{datetime.now(UTC):%Y-%m}"


async def top_products(client: ApiClient, first: int | None = None) -> list[tuple[str, int]]:
    rows = (await client.data(TOP_PRODUCTS, m=this_month(), n=first))["topProducts"]
    return [(row["product"]["sku"], row["quantity"]) for row in rows]


async def place_order_of(client: ApiClient, customer: str, *lines: tuple[str, int]) -> str:
    id: str = (await place_order(client, order_input(customer, *lines)))["id"]
    return id


async def change_status(client: ApiClient, order: str, *statuses: str) -> None:
    for status in statuses:
        await client.data(TRANSITION, id=order, to=status)


async def test_a_confirmed_order_counts_once_until_it_is_cancelled(owner: ApiClient) -> None:
    customer, pen, ink = await new_customer(owner), await new_product(owner, "PEN"), await new_product(owner, "INK")
    first = await place_order_of(owner, customer, (pen, 2), (ink, 5), (pen, 1))
    second = await place_order_of(owner, customer, (pen, 4))
    assert await top_products(owner) == []
    await change_status(owner, first, "CONFIRMED")
    assert await top_products(owner) == [("INK", 5), ("PEN", 3)]
    await change_status(owner, second, "CONFIRMED", "PROCESSING", "SHIPPED", "DELIVERED")
    assert await top_products(owner) == [("PEN", 7), ("INK", 5)]
    assert await top_products(owner, 1) == [("PEN", 7)]
    await change_status(owner, first, "PROCESSING", "CANCELLED")
    assert await top_products(owner) == [("PEN", 4)]


async def test_an_order_that_was_cancelled_before_confirmation_never_counts(owner: ApiClient) -> None:
    order = await place_order_of(owner, await new_customer(owner), (await new_product(owner), 3))
    await change_status(owner, order, "CANCELLED")
    assert await top_products(owner) == []


async def test_concurrent_confirmations_are_all_counted(owner: ApiClient) -> None:
    customer = await new_customer(owner)
    products = {sku: await new_product(owner, sku) for sku in ("A", "B", "C")}
    lines = [[("A", 1), ("B", number)] if number % 2 else [("B", 2), ("C", number)] for number in range(1, 11)]
    orders = [await place_order_of(owner, customer, *((products[sku], count) for sku, count in line)) for line in lines]
    await asyncio.gather(*(_confirm(owner, order) for order in orders))
    sold: Counter[str] = Counter()
    for line in lines:
        for sku, count in line:
            sold[sku] += count
    assert dict(await top_products(owner)) == dict(sold)


async def test_confirmations_with_the_right_version_do_not_conflict_over_a_shared_product(owner: ApiClient) -> None:
    customer, pen = await new_customer(owner), await new_product(owner, "PEN")
    orders = [await place_order_of(owner, customer, (pen, 1)) for _ in range(16)]
    await asyncio.gather(*(_confirm(owner, order, expected_version=1) for order in orders))
    assert await top_products(owner) == [("PEN", 16)]


async def test_of_two_confirmations_with_the_same_version_one_conflicts(owner: ApiClient) -> None:
    order = await place_order_of(owner, await new_customer(owner), (await new_product(owner, "PEN"), 1))
    answers = await asyncio.gather(*(owner.execute(TRANSITION, id=order, to="CONFIRMED", v=1) for _ in range(2)))
    (conflict,) = [answer["errors"][0]["extensions"] for answer in answers if "errors" in answer]
    assert (conflict["code"], conflict["version"]) == ("CONFLICT", 2)
    assert await top_products(owner) == [("PEN", 1)]


async def _confirm(client: ApiClient, order: str, expected_version: int | None = None) -> None:
    """Repeats the call while the answer says to retry."""
    while True:
        answer = await client.execute(TRANSITION, id=order, to="CONFIRMED", v=expected_version)
        if "errors" not in answer:
            return
        assert answer["errors"][0]["extensions"]["code"] == "THROTTLED", answer


async def test_a_lost_answer_does_not_count_twice(stack: ServiceStack, owner: ApiClient) -> None:
    order = await place_order_of(owner, await new_customer(owner), (await new_product(owner), 3))
    stack.gate.faults = (Fault(kind="lost_response", operation="TransactWriteItems", nth=1),)
    try:
        await change_status(owner, order, "CONFIRMED")
    finally:
        stack.gate.faults = ()
    assert await top_products(owner) == [("PEN", 3)]


async def test_an_invalid_month_is_refused_with_its_field(owner: ApiClient) -> None:
    (error,) = (await owner.execute(TOP_PRODUCTS, m="2026-13"))["errors"]
    assert (error["extensions"]["code"], error["extensions"]["field"]) == ("BAD_USER_INPUT", "month")


async def test_the_ranking_costs_one_query_and_one_batch(stack: ServiceStack, owner: ApiClient) -> None:
    order = await place_order_of(owner, await new_customer(owner), (await new_product(owner), 3))
    await change_status(owner, order, "CONFIRMED")
    await owner.data("{ viewer { subject } }")
    stack.take_calls()
    await top_products(owner)
    assert stack.take_operations() == ["Query", "BatchGetItem"]
