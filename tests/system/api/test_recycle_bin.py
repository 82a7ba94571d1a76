"""The recycle bin through the API: a deleted order leaves every list, and a restored one returns to its place."""

from typing import Any

from keyfence.auth.principal import Role
from tests.data.order_requests import (
    DELETE,
    FLAG,
    RESTORE,
    TRANSITION,
    new_customer,
    new_product,
    order_input,
    place_order,
)
from tests.stack import ApiClient, ServiceStack

ALL_LISTS = """query($id: ID!, $customer: ID!) {
  order(id: $id) { status total flagged createdAt updatedAt items { position sku } }
  node(id: $id) { id }
  customer(id: $customer) {
    orders { edges { node { id } } } pending: orders(status: PENDING) { edges { node { id } } }
  }
  openOrders { edges { node { id } } }
  ordersByRegion(region: "north") { edges { node { id } } }
  reviewQueue { edges { node { id } } }
}"""
DELETED_ORDERS = "{ deletedOrders { edges { node { id status items { sku } history { kind } } } } }"


async def new_order(owner: ApiClient) -> dict[str, Any]:
    customer, pen = await new_customer(owner), await new_product(owner)
    return await place_order(owner, order_input(customer, (pen, 1), (pen, 2)))


async def test_a_deleted_order_leaves_every_list_and_returns_to_its_place_when_restored(owner: ApiClient) -> None:
    order = await new_order(owner)
    field_names = {"id": order["id"], "customer": order["customer"]["id"]}
    await owner.data(FLAG, id=order["id"])
    before = await owner.data(ALL_LISTS, **field_names)
    assert str(before).count(order["id"]) == 6
    await owner.data(DELETE, id=order["id"])
    assert order["id"] not in str(await owner.data(ALL_LISTS, **field_names))
    (edge,) = (await owner.data(DELETED_ORDERS))["deletedOrders"]["edges"]
    assert (edge["node"]["id"], len(edge["node"]["items"])) == (order["id"], 2)
    await owner.data(RESTORE, id=order["id"])
    assert await owner.data(ALL_LISTS, **field_names) == before
    assert (await owner.data(DELETED_ORDERS))["deletedOrders"]["edges"] == []


async def test_an_order_in_the_bin_cannot_be_changed(owner: ApiClient) -> None:
    order = await new_order(owner)
    first = await owner.data(DELETE, id=order["id"])
    assert await owner.data(DELETE, id=order["id"]) == first
    for mutation in (TRANSITION, FLAG):
        assert await owner.error_code(mutation, id=order["id"], to="CONFIRMED") == "CONFLICT"
    assert [edge["node"]["history"] for edge in (await owner.data(DELETED_ORDERS))["deletedOrders"]["edges"]] == [
        [{"kind": "placed"}, {"kind": "deleted"}]
    ]


async def test_an_order_that_is_not_in_the_bin_cannot_be_restored(stack: ServiceStack, owner: ApiClient) -> None:
    order = await new_order(owner)
    assert await owner.error_code(RESTORE, id=order["id"]) == "CONFLICT"
    neighbour = stack.api_client(await stack.new_tenant())
    for order_id in (RESTORE, DELETE):
        assert await neighbour.error_code(order_id, id=order["id"]) == "NOT_FOUND"


async def test_the_bin_needs_the_role_admin(stack: ServiceStack, owner: ApiClient) -> None:
    order = await new_order(owner)
    member, admin = stack.api_client(owner.tenant, Role.MEMBER), stack.api_client(owner.tenant, Role.ADMIN)
    assert await member.error_code(DELETE, id=order["id"]) == "FORBIDDEN"
    await admin.data(DELETE, id=order["id"])
    assert await member.error_code(RESTORE, id=order["id"]) == "FORBIDDEN"
    assert len((await member.data(DELETED_ORDERS))["deletedOrders"]["edges"]) == 1
