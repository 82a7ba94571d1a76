"""A tenant with an item in every list, which other tenants try to reach."""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from keyfence.auth.principal import Role
from tests.isolation.root_fields import RootFieldCall
from tests.stack import ApiClient, ServiceStack

EVERYTHING = """{
  users(first: 20) { edges { cursor node { id email name role version settings { name value } } } }
  groups(first: 20) { edges { cursor node {
    id name description memberCount version members { edges { role node { id } } }
  } } }
  storesNear(latitude: 1.5, longitude: 1.5, radiusKm: 100) { distanceKm store { id name latitude longitude } }
  categories { path depth }
  productsInCategory(path: ["Hidden Shelf"]) { edges { cursor node { id sku name price currency revision views } } }
  customers(first: 5) { edges { cursor node {
    id name email version orders(first: 5) { edges { node { id version items { sku } } } }
  } } }
  ordersByRegion(region: "Hidden Region") { edges { cursor node { id status total region flagged version } } }
  openOrders { edges { cursor node { id history { kind by note } } } }
  reviewQueue { edges { cursor node { id customer { id } } } }
  deletedOrders { edges { cursor node { id version } } }
  activity(first: 20) { edges { cursor node { id kind target detail } } }
}"""
PLACE = """mutation($input: PlaceOrderInput!) {
  plain: placeOrder(input: $input, idempotencyKey: "Hidden Key") { id }
  flagged: placeOrder(input: $input) { id }
  deleted: placeOrder(input: $input) { id }
}"""
SET_APART = """mutation($flagged: ID!, $deleted: ID!) {
  flagOrder(id: $flagged, reason: "Unspoken") { id }
  deleteOrder(id: $deleted) { id }
}"""
LISTS = (
    "users", "groups", "productsInCategory", "customers", "ordersByRegion", "openOrders", "reviewQueue",
    "deletedOrders", "activity",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A tenant with an item in every list, and the values with which a stranger can try to name them."""

    session: ApiClient
    values: Mapping[str, tuple[str, ...]]
    secrets: tuple[str, ...]

    def assignments(self, question: RootFieldCall) -> Iterator[dict[str, str]]:
        """Yields every combination of the tenant's values for the arguments of a call."""
        choices = [self._choices(name) for name in question.argument_names]
        for chosen in itertools.product(*choices):
            yield dict(zip(question.argument_names, chosen, strict=True))

    def _choices(self, name: str) -> tuple[str, ...]:
        assert name in self.values, f"give the neighbour an example of the argument {name}"
        return self.values[name]


async def create_neighbour(stack: ServiceStack) -> Neighbour:
    """Creates the tenant through the API. For a new root field add its values here: the tests fail without them."""
    session = stack.api_client(await stack.new_tenant())
    user = await session.data(
        'mutation { createUser(input: {email: "only-there@neighbour.example", name: "Secretive One"}) { id } }'
    )
    loner = await session.data('mutation { createUser(input: {email: "l@neighbour.example", name: "L"}) { id } }')
    group = await session.data(
        'mutation { createGroup(input: {name: "Hidden Circle", description: "Unspoken"}) { id } }'
    )
    ids = {"u": user["createUser"]["id"], "g": group["createGroup"]["id"]}
    await session.data("mutation($u: ID!, $g: ID!) { addMember(userId: $u, groupId: $g) { role } }", **ids)
    await stack.api_client(session.tenant, Role.MEMBER, user=ids["u"]).data(
        'mutation($u: ID!) { putSetting(userId: $u, name: "hue", value: "Ultraviolet") { name } }', u=ids["u"]
    )
    store = await session.data(
        'mutation { createStore(input: {name: "Secretive One", latitude: 1.5, longitude: 1.5}) { id } }'
    )
    await session.data('mutation { createCategory(path: ["Hidden Shelf"]) { path } }')
    product = await session.data(
        'mutation { createProduct(input: {sku: "HIDDEN-1", name: "Secretive One", price: "9.5",'
        ' category: ["Hidden Shelf"]}) { id } }'
    )
    things = (ids["u"], ids["g"], loner["createUser"]["id"], store["createStore"]["id"], product["createProduct"]["id"])
    customer, orders = await _ordered(session, things[-1])
    shown = await session.data(EVERYTHING)
    return Neighbour(
        session,
        {
            "id": (*things, customer, *orders),
            "userId": things[:3],
            "groupId": things[:2],
            "customerId": (customer, orders[0]),
            "productId": (things[-1], customer),
            "region": ("Hidden Region",),
            "idempotencyKey": ("Hidden Key", "Free Key"),
            "note": ("Unspoken",),
            "reason": ("Unspoken",),
            "email": ("only-there@neighbour.example", "still-free@neighbour.example"),
            "name": ("Secretive One", "hue"),
            "description": ("Unspoken",),
            "sku": ("HIDDEN-1", "FREE-1"),
            "currency": ("EUR",),
            "category": ("Hidden Shelf",),
            "path": ("Hidden Shelf", "Empty Shelf"),
            "under": ("Hidden Shelf",),
            "to": ("Far Shelf",),
            "month": ("2026-11",),
            "jti": ("some-token",),
            "after": tuple(shown[name]["edges"][0]["cursor"] for name in LISTS),
        },
        ("only-there", "neighbour.example", "Secretive", "Hidden", "HIDDEN", "Unspoken", "Ultraviolet", session.tenant),
    )


async def _ordered(session: ApiClient, product: str) -> tuple[str, tuple[str, ...]]:
    """Creates a customer with an open order, one in review, and a deleted one."""
    made = await session.data(
        'mutation { createCustomer(input: {name: "Secretive One", email: "c@neighbour.example"}) { id } }'
    )
    customer: str = made["createCustomer"]["id"]
    line = {"productId": product, "quantity": 1}
    placed = await session.data(PLACE, input={"customerId": customer, "region": "Hidden Region", "items": [line]})
    ids = {name: order["id"] for name, order in placed.items()}
    await session.data(SET_APART, flagged=ids["flagged"], deleted=ids["deleted"])
    return customer, tuple(ids.values())
