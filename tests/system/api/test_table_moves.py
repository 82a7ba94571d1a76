"""While a tenant is moved, every change is written to both tables, and clients get the same answers as before."""

import httpx2
import pytest

from keyfence.tenancy.placement import MovePhase, Placement
from tests.data.order_requests import (
    CLAIM,
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
from tests.system.jobs.moving_tenant import MovingTenant

CREATE_USER = 'mutation($e: String!) { createUser(input: {email: $e, name: "N"}) { id } }'
CREATE_GROUP = "mutation($n: String!) { createGroup(input: {name: $n}) { id } }"
ADD_MEMBER = "mutation($g: ID!, $u: ID!) { addMember(groupId: $g, userId: $u) { role } }"
STATUSES = ("CONFIRMED", "PROCESSING", "SHIPPED")
READ_LISTS = """{ users { edges { node { id email role } } } groups { edges { node { id name memberCount
  members { edges { role node { id } } } } } } customers { edges { node { id name } } }
  openOrders { edges { node { id status version } } } deletedOrders { edges { node { id } } }
  activity { edges { node { kind target by } } }
  storesNear(latitude: 48.1, longitude: 11.5, radiusKm: 5) { store { id } } categories { path } }"""


@pytest.fixture
async def moving(stack: ServiceStack) -> MovingTenant:
    return await MovingTenant.create(stack)


class VariedChanges:
    """Creates and changes objects with every kind of mutation."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.ids: dict[str, str] = {}

    async def create_objects(self, server: ApiClient) -> None:
        ids = self.ids
        ids["user"] = (await server.data(CREATE_USER, e=f"{self.name}@x.example"))["createUser"]["id"]
        ids["other"] = (await server.data(CREATE_USER, e=f"{self.name}-2@x.example"))["createUser"]["id"]
        ids["group"] = (await server.data(CREATE_GROUP, n=self.name))["createGroup"]["id"]
        ids["crew"] = (await server.data(CREATE_GROUP, n=f"{self.name} crew"))["createGroup"]["id"]
        ids["customer"] = await new_customer(server, self.name)
        ids["product"] = await new_product(server, self.name)
        for order in ("order", "binned", "odd"):
            request = order_input(ids["customer"], (ids["product"], 2), (ids["product"], 1))
            ids[order] = (await place_order(server, request, f"{self.name}-{order}"))["id"]
        await server.data(ADD_MEMBER, g=ids["crew"], u=ids["user"])
        await server.data("mutation($id: ID!) { countProductView(id: $id) }", id=ids["product"])

    async def change_objects(self, server: ApiClient) -> None:
        ids = self.ids
        await server.data(ADD_MEMBER, g=ids["group"], u=ids["user"])
        await server.data(ADD_MEMBER, g=ids["group"], u=ids["other"])
        changes = [
            'updateUser(id: $user, input: {name: "New", role: ADMIN}) { id }',
            'updateGroup(id: $group, input: {name: "renamed"}) { id }',
            "changeMember(groupId: $group, userId: $user, role: MANAGER) { role }",
            "changeMember(groupId: $crew, userId: $user, role: MANAGER) { role }",
            "removeMember(groupId: $group, userId: $other)",
            'putSetting(userId: $user, name: "n", value: 1) { value }',
            'putSetting(userId: $user, name: "n", value: 2) { value }',
            'putSetting(userId: $other, name: "n", value: 2) { value }',
            'updateCustomer(id: $customer, input: {name: "Bea"}) { id }',
            'reviseProduct(id: $product, input: {price: "2.20"}) { id }',
            "countProductView(id: $product)",
            "countProductView(id: $product)",
            "deleteUser(id: $other)",
            "deleteGroup(id: $crew)",
        ]
        for change in changes:
            names = [name for name in ids if f"${name}" in change]
            declarations = ", ".join(f"${name}: ID!" for name in names)
            await server.data(f"mutation({declarations}) {{ {change} }}", **{name: ids[name] for name in names})
        for status in STATUSES:
            await server.data(TRANSITION, id=ids["order"], to=status)
        for mutation in (DELETE, RESTORE, DELETE):
            await server.data(mutation, id=ids["binned"])
        await server.data(FLAG, id=ids["odd"])
        assert (await server.data(CLAIM))["claimReview"]["id"] == ids["odd"]
        await server.data(
            "mutation($i: CreateStoreInput!) { createStore(input: $i) { id } }",
            i={"name": self.name, "latitude": 48.1, "longitude": 11.5},
        )
        await server.data(f'mutation {{ revokeSession(jti: "{self.name}") }}')
        await server.data(f'mutation {{ createCategory(path: ["{self.name}"]) {{ name }} }}')
        await server.data(f'mutation {{ moveCategory(path: ["pens"], to: ["{self.name}", "pens"]) }}')


async def differences(server: ApiClient) -> list[str]:
    transport = httpx2.ASGITransport(server.application)
    async with httpx2.AsyncClient(transport=transport, base_url="http://x") as http:
        lines = (await http.get("/metrics")).text.splitlines()
    return [line for line in lines if line.startswith("keyfence_second_table_differences_total{")]


async def test_every_kind_of_change_is_written_to_both_tables_from_the_start(moving: MovingTenant) -> None:
    await moving.publish(MovePhase.DUAL)
    changes_of_client, server = VariedChanges("ann"), moving.server()
    await changes_of_client.create_objects(server)
    await changes_of_client.change_objects(server)
    source_items, target_items = moving.items_in_both_tables()
    assert len(source_items) > 40
    assert source_items == target_items


async def test_a_tenant_moves_to_its_own_table_and_back_while_clients_use_it(moving: MovingTenant) -> None:
    changes_of_client, server = VariedChanges("bea"), moving.server()
    await changes_of_client.create_objects(server)
    before = moving.items(moving.pool)
    await moving.publish(MovePhase.BACKFILL)
    await changes_of_client.change_objects(moving.server())
    source_items, target_items = moving.items_in_both_tables()
    assert {key: source_items.get(key) for key in target_items} == target_items
    assert {key: before.get(key) for key in source_items if key not in target_items}.items() <= source_items.items()
    await moving.backfill()
    source_items, target_items = moving.items_in_both_tables()
    assert source_items == target_items
    await moving.publish(MovePhase.SHADOW)
    server = moving.server()
    lists_before = await server.data(READ_LISTS)
    assert await differences(server) == []
    for phase, placement in (
        (MovePhase.SWITCHED, Placement.POOL),
        (None, Placement.SILO),
        (MovePhase.DUAL, Placement.SILO),
        (MovePhase.SHADOW, Placement.SILO),
        (MovePhase.SWITCHED, Placement.SILO),
        (None, Placement.POOL),
    ):
        await moving.publish(phase, placement)
        server = moving.server()
        assert await server.data(READ_LISTS) == lists_before
        assert await differences(server) == []


async def test_a_difference_is_counted_and_the_answer_is_that_of_the_table_that_is_read(
    moving: MovingTenant,
) -> None:
    await moving.publish(MovePhase.SHADOW)
    server = moving.server()
    user_id = (await server.data(CREATE_USER, e="u@x.example"))["createUser"]["id"]
    ((partition, sort),) = [key for key in moving.items(moving.silo) if key[0].endswith(f"#USER#{user_id}")]
    engine = moving.stack.engine_client()
    engine.delete_item(TableName=moving.silo, Key={"PK": {"S": partition}, "SK": {"S": sort}})
    data = await server.data("query($id: ID!) { user(id: $id) { email } }", id=user_id)
    assert data == {"user": {"email": "u@x.example"}}
    (line,) = await differences(server)
    assert line.endswith(" 1")
