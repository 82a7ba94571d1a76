"""Orders through the API: prices, status changes and history."""

import asyncio
from typing import Any

import pytest

from keyfence.auth.principal import Role
from tests.data.order_requests import DELETE, PLACE, TRANSITION, new_customer, new_product, order_input, place_order
from tests.stack import ApiClient, ServiceStack

ORDER = """query($id: ID!) { order(id: $id) {
  id version status region currency total flagged createdAt updatedAt customer { id name }
  items { position sku quantity unitPrice product { id name } } history { kind by from to note }
} }"""
LISTS = """{
  openOrders { edges { node { id status total items { sku } } } }
  ordersByRegion(region: "north") { edges { node { id status history { kind } } } }
}"""


async def test_an_order_is_returned_as_it_is_stored(owner: ApiClient) -> None:
    customer = await new_customer(owner)
    pen, ink = await new_product(owner, "PEN", "1.10"), await new_product(owner, "INK", "0.07")
    order = await place_order(owner, order_input(customer, (pen, 3), (ink, 10_000), (pen, 2)))
    assert order["customer"] == {"id": customer, "name": "Ann"}
    assert (order["total"], order["currency"], order["status"], order["version"]) == ("705.50", "EUR", "PENDING", 1)
    assert [tuple(item.values()) for item in order["items"]] == [
        (1, "PEN", 3, "1.10", {"id": pen, "name": "PEN"}),
        (2, "INK", 10_000, "0.07", {"id": ink, "name": "INK"}),
        (3, "PEN", 2, "1.10", {"id": pen, "name": "PEN"}),
    ]
    assert order["history"] == [{"kind": "placed", "by": "somebody", "from": None, "to": "PENDING", "note": None}]
    assert (await owner.data(ORDER, id=order["id"]))["order"] == order


async def test_a_later_price_does_not_change_an_order(owner: ApiClient) -> None:
    customer, pen = await new_customer(owner), await new_product(owner)
    order = await place_order(owner, order_input(customer, (pen, 2)))
    await owner.data('mutation($id: ID!) { reviseProduct(id: $id, input: {price: "9.99"}) { price } }', id=pen)
    assert (await owner.data(ORDER, id=order["id"]))["order"]["total"] == "2.20"
    assert (await place_order(owner, order_input(customer, (pen, 2))))["total"] == "19.98"


async def test_an_invalid_order_is_refused_with_its_field(stack: ServiceStack, owner: ApiClient) -> None:
    customer, pen, yen = (
        await new_customer(owner),
        await new_product(owner),
        await new_product(owner, "YEN", "1", "JPY"),
    )
    neighbour = stack.api_client(await stack.new_tenant())
    foreign_customer, foreign_product = await new_customer(neighbour), await new_product(neighbour)
    invalid_inputs_by_field = {
        "customerId": [order_input(foreign_customer, (pen, 1)), order_input(pen, (pen, 1)), order_input("x", (pen, 1))],
        "productId": [order_input(customer, (pen, 1), (foreign_product, 1)), order_input(customer, (customer, 1))],
        "quantity": [order_input(customer, (pen, quantity)) for quantity in (0, -1, 10_001)],
        "items": [
            order_input(customer),
            order_input(customer, *[(pen, 1)] * 91),
            order_input(customer, (pen, 1), (yen, 1)),
        ],
        "region": [order_input(customer, (pen, 1), region=" ")],
    }
    for field, requests in invalid_inputs_by_field.items():
        for request in requests:
            (error,) = (await owner.execute(PLACE, input=request))["errors"]
            assert error["extensions"]["code"] == "BAD_USER_INPUT"
            assert error["extensions"]["field"] == field
    assert (await owner.data(LISTS))["openOrders"]["edges"] == []


async def test_an_invalid_item_is_named_by_its_position(stack: ServiceStack, owner: ApiClient) -> None:
    customer, pen = await new_customer(owner), await new_product(owner)
    foreign_product = await new_product(stack.api_client(await stack.new_tenant()))
    for invalid_id in ("x", customer, foreign_product):
        (error,) = (await owner.execute(PLACE, input=order_input(customer, (pen, 1), (invalid_id, 1))))["errors"]
        assert error["extensions"] == {"code": "BAD_USER_INPUT", "field": "productId", "position": 2}


async def test_an_idempotency_key_of_a_deleted_order_is_a_conflict_that_names_the_order(owner: ApiClient) -> None:
    customer, pen = await new_customer(owner), await new_product(owner)
    request = order_input(customer, (pen, 2))
    order = await place_order(owner, request, key="k")
    await owner.data(DELETE, id=order["id"])
    (error,) = (await owner.execute(PLACE, input=request, key="k"))["errors"]
    assert "was deleted; restore it" in error["message"]
    assert error["extensions"] == {"code": "CONFLICT", "field": "idempotencyKey", "orderId": order["id"]}


async def test_concurrent_requests_with_one_idempotency_key_create_one_order(owner: ApiClient) -> None:
    customer, pen = await new_customer(owner), await new_product(owner)
    request = order_input(customer, (pen, 2))
    answers = await asyncio.gather(*(place_order(owner, request, key="k") for _ in range(10)))
    assert len({order["id"] for order in answers}) == 1
    assert await owner.error_code(PLACE, input=order_input(customer, (pen, 3)), key="k") == "CONFLICT"
    assert len((await owner.data(LISTS))["openOrders"]["edges"]) == 1


async def test_an_illegal_status_change_names_the_legal_ones(owner: ApiClient) -> None:
    customer, pen = await new_customer(owner), await new_product(owner)
    order = await place_order(owner, order_input(customer, (pen, 2)))
    (error,) = (await owner.execute(TRANSITION, id=order["id"], to="DELIVERED"))["errors"]
    assert error["extensions"] == {"code": "CONFLICT", "status": "PENDING", "allowed": ["CONFIRMED", "CANCELLED"]}
    assert await owner.error_code(TRANSITION, id=order["id"], to="CONFIRMED", v=7) == "CONFLICT"
    assert await owner.error_code(TRANSITION, id="ord_" + "0" * 26, to="CONFIRMED") == "NOT_FOUND"


async def test_an_order_passes_all_statuses_and_leaves_the_list_of_open_orders(owner: ApiClient) -> None:
    customer, pen = await new_customer(owner), await new_product(owner)
    order = await place_order(owner, order_input(customer, (pen, 2)))
    states = ["CONFIRMED", "PROCESSING", "SHIPPED", "DELIVERED"]
    for version, status in enumerate(states, start=1):
        assert len((await owner.data(LISTS))["openOrders"]["edges"]) == 1
        await owner.data(TRANSITION, id=order["id"], to=status, v=version, note=f"now {status}")
    lists = await owner.data(LISTS)
    assert lists["openOrders"]["edges"] == []
    assert [edge["node"]["status"] for edge in lists["ordersByRegion"]["edges"]] == ["DELIVERED"]
    history = (await owner.data(ORDER, id=order["id"]))["order"]["history"]
    assert [(entry["from"], entry["to"]) for entry in history] == list(
        zip([None, "PENDING", *states], ["PENDING", *states], strict=False)
    )
    assert history[-1]["note"] == "now DELIVERED"


async def test_sales_count_from_the_confirmation_to_the_cancellation(owner: ApiClient) -> None:
    customer, pen = await new_customer(owner), await new_product(owner)
    order = await place_order(owner, order_input(customer, (pen, 2), (pen, 3)))
    month = order["createdAt"][:7]

    async def sold_quantities() -> list[int]:
        data = await owner.data("query($m: String!) { topProducts(month: $m) { quantity } }", m=month)
        return [row["quantity"] for row in data["topProducts"]]

    assert await sold_quantities() == []
    for to, quantity in {"CONFIRMED": [5], "PROCESSING": [5], "CANCELLED": []}.items():
        await owner.data(TRANSITION, id=order["id"], to=to)
        assert await sold_quantities() == quantity
    unconfirmed_order = await place_order(owner, order_input(customer, (pen, 2)))
    await owner.data(TRANSITION, id=unconfirmed_order["id"], to="CANCELLED")
    assert await sold_quantities() == []


async def test_orders_are_listed_by_region_and_days(owner: ApiClient) -> None:
    customer, pen = await new_customer(owner), await new_product(owner)
    order = await place_order(owner, order_input(customer, (pen, 2), region="South # 1%"))
    day = order["createdAt"][:10]
    query = """query($r: String!, $from: Date, $to: Date) {
      ordersByRegion(region: $r, from: $from, to: $to) { edges { node { id } } } }"""
    days: dict[str, Any] = {"from": day, "to": day}
    for region, variables, count in (
        ("South # 1%", {}, 1),
        ("South # 1%", days, 1),
        ("South # 1%", {"from": "2999-01-01"}, 0),
        ("South # 1%", {"to": "1999-01-01"}, 0),
        ("South", {}, 0),
    ):
        page = (await owner.data(query, r=region, **variables))["ordersByRegion"]
        assert len(page["edges"]) == count


COSTS = {
    "order(id: $id) { status }": ["BatchGetItem"],
    "order(id: $id) { status items { sku } }": ["Query"],
    "order(id: $id) { ... on Order { items { product { name } } } }": ["Query", "BatchGetItem"],
    "order(id: $id) { history { kind } }": ["BatchGetItem", "Query"],
    "order(id: $id) { customer { name } }": ["BatchGetItem", "BatchGetItem"],
    "node(id: $id) { ... on Order { status } }": ["BatchGetItem"],
    "openOrders { edges { node { total region flagged } } }": ["Query"],
    "openOrders { edges { node { items { sku } } } }": ["Query", "BatchGetItem"],
    "openOrders { edges { node { history { kind } customer { name } } } }": ["Query", "BatchGetItem", "BatchGetItem"],
    'ordersByRegion(region: "north") { edges { node { status } } }': ["Query"],
    "reviewQueue { edges { node { status } } }": ["Query"],
    "deletedOrders { edges { node { status } } }": ["Query"],
}


async def test_each_query_of_orders_costs_a_fixed_number_of_calls(stack: ServiceStack, owner: ApiClient) -> None:
    customer, pen = await new_customer(owner), await new_product(owner)
    orders = [await place_order(owner, order_input(customer, *[(pen, 1)] * 3)) for _ in range(4)]
    for field, expected in COSTS.items():
        stack.take_calls()
        variables = {"id": orders[0]["id"]} if "$id" in field else {}
        await owner.data(f"query{'($id: ID!)' if variables else ''} {{ {field} }}", **variables)
        operations = stack.take_operations()
        assert operations == expected, field


async def test_a_member_places_orders_and_changes_their_status(stack: ServiceStack, owner: ApiClient) -> None:
    member = stack.api_client(owner.tenant, Role.MEMBER)
    customer, pen = await new_customer(member), await new_product(owner)
    order = await place_order(member, order_input(customer, (pen, 2)))
    data = await member.data(TRANSITION, id=order["id"], to="CONFIRMED")
    assert data["transitionOrder"]["status"] == "CONFIRMED"


@pytest.mark.parametrize("id", ["", "x", "usr_" + "0" * 26])
async def test_an_id_that_is_not_an_orders_is_refused(owner: ApiClient, id: str) -> None:
    assert await owner.error_code(ORDER, id=id) == "BAD_USER_INPUT"
    assert await owner.error_code(TRANSITION, id=id, to="CONFIRMED") == "BAD_USER_INPUT"
