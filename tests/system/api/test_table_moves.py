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

USER = 'mutation($e: String!) { createUser(input: {email: $e, name: "N"}) { id } }'
GROUP = "mutation($n: String!) { createGroup(input: {name: $n}) { id } }"
MEMBER = "mutation($g: ID!, $u: ID!) { addMember(groupId: $g, userId: $u) { role } }"
STATES = ("CONFIRMED", "PROCESSING", "SHIPPED")
LISTS = """{ users { edges { node { id email role } } } groups { edges { node { id name memberCount
  members { edges { role node { id } } } } } } customers { edges { node { id name } } }
  openOrders { edges { node { id status version } } } deletedOrders { edges { node { id } } }
  activity { edges { node { kind target by } } }
  storesNear(latitude: 48.1, longitude: 11.5, radiusKm: 5) { store { id } } categories { path } }"""


@pytest.fixture
async def moving(stack: ServiceStack) -> MovingTenant:
    return await MovingTenant.begun(stack)


class Shopping:
    """A client that uses every kind of change."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.ids: dict[str, str] = {}

    async def begin(self, server: ApiClient) -> None:
        ids = self.ids
        ids["user"] = (await server.data(USER, e=f"{self.name}@x.example"))["createUser"]["id"]
        ids["other"] = (await server.data(USER, e=f"{self.name}-2@x.example"))["createUser"]["id"]
        ids["group"] = (await server.data(GROUP, n=self.name))["createGroup"]["id"]
        ids["crew"] = (await server.data(GROUP, n=f"{self.name} crew"))["createGroup"]["id"]
        ids["customer"] = await new_customer(server, self.name)
        ids["product"] = await new_product(server, self.name)
        for order in ("order", "binned", "odd"):
            request = order_input(ids["customer"], (ids["product"], 2), (ids["product"], 1))
            ids[order] = (await place_order(server, request, f"{self.name}-{order}"))["id"]
        await server.data(MEMBER, g=ids["crew"], u=ids["user"])
        await server.data("mutation($id: ID!) { countProductView(id: $id) }", id=ids["product"])

    async def go_on(self, server: ApiClient) -> None:
        ids = self.ids
        await server.data(MEMBER, g=ids["group"], u=ids["user"])
        await server.data(MEMBER, g=ids["group"], u=ids["other"])
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
            declared = ", ".join(f"${name}: ID!" for name in names)
            await server.data(f"mutation({declared}) {{ {change} }}", **{name: ids[name] for name in names})
        for state in STATES:
            await server.data(TRANSITION, id=ids["order"], to=state)
        for again in (DELETE, RESTORE, DELETE):
            await server.data(again, id=ids["binned"])
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
    return [line for line in lines if line.startswith("keyfence_shadow_read_differences_total{")]


async def test_every_kind_of_change_is_written_to_both_tables_from_the_start(moving: MovingTenant) -> None:
    await moving.publish(MovePhase.DUAL)
    shopping, server = Shopping("ann"), moving.server()
    await shopping.begin(server)
    await shopping.go_on(server)
    kept, copied = moving.both()
    assert len(kept) > 40
    assert kept == copied


async def test_a_tenant_moves_to_its_own_table_and_back_while_clients_use_it(moving: MovingTenant) -> None:
    shopping, server = Shopping("bea"), moving.server()
    await shopping.begin(server)
    before = moving.items(moving.pool)
    await moving.publish(MovePhase.BACKFILL)
    await shopping.go_on(moving.server())
    kept, copied = moving.both()
    assert {key: kept.get(key) for key in copied} == copied
    assert {key: before.get(key) for key in kept if key not in copied}.items() <= kept.items()
    await moving.backfill()
    kept, copied = moving.both()
    assert kept == copied
    await moving.publish(MovePhase.SHADOW)
    server = moving.server()
    seen = await server.data(LISTS)
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
        assert await server.data(LISTS) == seen
        assert await differences(server) == []


async def test_a_difference_is_counted_and_the_answer_is_that_of_the_table_that_is_read(
    moving: MovingTenant,
) -> None:
    await moving.publish(MovePhase.SHADOW)
    server = moving.server()
    made = (await server.data(USER, e="u@x.example"))["createUser"]["id"]
    ((partition, sort),) = [key for key in moving.items(moving.silo) if key[0].endswith(f"#USER#{made}")]
    engine = moving.stack.engine_client()
    engine.delete_item(TableName=moving.silo, Key={"PK": {"S": partition}, "SK": {"S": sort}})
    found = await server.data("query($id: ID!) { user(id: $id) { email } }", id=made)
    assert found == {"user": {"email": "u@x.example"}}
    (line,) = await differences(server)
    assert line.endswith(" 1")
