"""Customers through the API, alone and with their orders."""

from typing import Any

import pytest

from keyfence.auth.principal import Role
from tests.data.order_requests import CUSTOMER, TRANSITION, new_customer, new_product, order_input, place_order
from tests.stack import ApiClient, ServiceStack

UPDATE = """mutation($id: ID!, $input: UpdateCustomerInput!, $v: Int) {
  updateCustomer(id: $id, input: $input, expectedVersion: $v) { name email version } }"""
ORDERS = """query($id: ID!, $status: OrderStatus, $first: Int, $after: String) { customer(id: $id) {
  id name orders(status: $status, first: $first, after: $after) {
    pageInfo { hasNextPage hasPreviousPage endCursor } edges { cursor node { id status customer { id } } } } } }"""


async def test_a_customer_is_created_found_and_changed(owner: ApiClient) -> None:
    customer = (await owner.data(CUSTOMER, n="Ann", e="ann@x.example"))["createCustomer"]
    changed = await owner.data(UPDATE, id=customer["id"], input={"email": None}, v=1)
    assert changed["updateCustomer"] == {"name": "Ann", "email": None, "version": 2}
    assert await owner.error_code(UPDATE, id=customer["id"], input={"name": "B"}, v=1) == "CONFLICT"
    data = await owner.data(
        "query($id: ID!) { customer(id: $id) { name email version } node(id: $id) { id __typename } }",
        id=customer["id"],
    )
    assert data["customer"] == {"name": "Ann", "email": None, "version": 2}
    assert data["node"] == {"id": customer["id"], "__typename": "Customer"}


@pytest.mark.parametrize("input", [{"n": ""}, {"n": "x" * 201}, {"n": "a\nb"}, {"e": "nobody"}, {"e": "a\ud800@b"}])
async def test_an_invalid_customer_is_refused_and_not_stored(owner: ApiClient, input: dict[str, Any]) -> None:
    assert await owner.error_code(CUSTOMER, **input) == "BAD_USER_INPUT"
    assert (await owner.data("{ customers { edges { node { id } } } }"))["customers"]["edges"] == []


async def test_an_unknown_customer_is_null_in_a_query_and_not_found_in_a_mutation(
    stack: ServiceStack, owner: ApiClient
) -> None:
    foreign = await new_customer(stack.api_client(await stack.new_tenant()))
    assert await owner.data("query($id: ID!) { customer(id: $id) { id } }", id=foreign) == {"customer": None}
    assert (await owner.data(ORDERS, id=foreign))["customer"] is None
    assert await owner.error_code(UPDATE, id=foreign, input={"name": "B"}) == "NOT_FOUND"


async def test_customers_are_listed_newest_first_in_pages(owner: ApiClient) -> None:
    created_ids = [await new_customer(owner, f"C{n}") for n in range(5)]
    query = """query($after: String) { customers(first: 2, after: $after) {
      edges { node { id } } pageInfo { endCursor hasNextPage } } }"""
    listed_ids, after, has_more = [], None, True
    while has_more:
        page = (await owner.data(query, after=after))["customers"]
        listed_ids += [edge["node"]["id"] for edge in page["edges"]]
        after, has_more = page["pageInfo"]["endCursor"], page["pageInfo"]["hasNextPage"]
    assert listed_ids == created_ids[::-1]


async def customer_with_orders(owner: ApiClient, count: int) -> tuple[str, list[str]]:
    customer, product = await new_customer(owner), await new_product(owner)
    order_ids = [(await place_order(owner, order_input(customer, (product, 1))))["id"] for _ in range(count)]
    return customer, order_ids[::-1]


@pytest.mark.parametrize("first", [1, 2, 3, 4, 100])
async def test_a_customer_and_the_newest_orders_cost_one_query(
    stack: ServiceStack, owner: ApiClient, first: int
) -> None:
    customer, order_ids = await customer_with_orders(owner, 3)
    stack.take_calls()
    data = (await owner.data(ORDERS, id=customer, first=first))["customer"]
    assert stack.take_operations() == ["Query"]
    assert [edge["node"]["id"] for edge in data["orders"]["edges"]] == order_ids[:first]
    assert {edge["node"]["customer"]["id"] for edge in data["orders"]["edges"]} == {customer}
    assert data["orders"]["pageInfo"]["hasNextPage"] == (first < 3)


async def test_the_second_page_of_a_customers_orders_continues_the_embedded_first_one(owner: ApiClient) -> None:
    customer, order_ids = await customer_with_orders(owner, 5)
    listed_ids, after, has_more = [], None, True
    while has_more:
        page = (await owner.data(ORDERS, id=customer, first=2, after=after))["customer"]["orders"]
        listed_ids += [edge["node"]["id"] for edge in page["edges"]]
        after, has_more = page["pageInfo"]["endCursor"], page["pageInfo"]["hasNextPage"]
    assert listed_ids == order_ids


async def test_orders_can_be_listed_by_status(stack: ServiceStack, owner: ApiClient) -> None:
    customer, (newest, middle, oldest) = await customer_with_orders(owner, 3)
    await owner.data(TRANSITION, id=middle, to="CONFIRMED")
    ids_by_status = {}
    for status in ("PENDING", "CONFIRMED", "SHIPPED"):
        page = (await owner.data(ORDERS, id=customer, status=status))["customer"]["orders"]
        ids_by_status[status] = [edge["node"]["id"] for edge in page["edges"]]
    assert ids_by_status == {"PENDING": [newest, oldest], "CONFIRMED": [middle], "SHIPPED": []}
    cursor = (await owner.data(ORDERS, id=customer, status="PENDING"))["customer"]["orders"]["edges"][0]["cursor"]
    assert await owner.error_code(ORDERS, id=customer, after=cursor) == "BAD_USER_INPUT"


MANY = """query($id: ID!, $n: Int = 2) { customer(id: $id) { ...shown } }
fragment shown on Customer {
  two: orders(first: $n) { edges { node { id } } }
  one: orders(first: 1) { edges { node { id } } }
  all: orders { edges { node { id } } }
  none: orders(status: SHIPPED, first: 2) { edges { node { id } } }
}"""


async def test_several_lists_of_orders_in_one_query_are_each_correct(owner: ApiClient) -> None:
    customer, order_ids = await customer_with_orders(owner, 3)
    lists = (await owner.data(MANY, id=customer))["customer"]
    ids = {name: [edge["node"]["id"] for edge in page["edges"]] for name, page in lists.items()}
    assert ids == {"two": order_ids[:2], "one": order_ids[:1], "all": order_ids, "none": []}


@pytest.mark.parametrize("first", [0, -1, 101])
async def test_the_page_size_of_orders_is_limited(owner: ApiClient, first: int) -> None:
    customer = await new_customer(owner)
    assert await owner.error_code(ORDERS, id=customer, first=first) == "BAD_USER_INPUT"


async def test_a_member_creates_customers_and_a_viewer_only_reads_them(stack: ServiceStack, owner: ApiClient) -> None:
    customer = await new_customer(stack.api_client(owner.tenant, Role.MEMBER))
    data = await stack.api_client(owner.tenant, Role.VIEWER).data(ORDERS, id=customer)
    assert data["customer"]["orders"]["edges"] == []
