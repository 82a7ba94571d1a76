"""`Neighbour`: a tenant with an item in every list. Tests let other tenants try to reach its items."""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from keyfence.auth.principal import Role
from tests.isolation.root_fields import RootFieldCall
from tests.stack import ApiClient, ServiceStack

READ_EVERYTHING = """{
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
PLACE_ORDERS = """mutation($input: PlaceOrderInput!) {
  plain: placeOrder(input: $input, idempotencyKey: "Hidden Key") { id }
  flagged: placeOrder(input: $input) { id }
  deleted: placeOrder(input: $input) { id }
}"""
FLAG_AND_DELETE_ORDERS = """mutation($flagged: ID!, $deleted: ID!) {
  flagOrder(id: $flagged, reason: "Unspoken") { id }
  deleteOrder(id: $deleted) { id }
}"""
LISTS_WITH_CURSORS = (
    "users", "groups", "productsInCategory", "customers", "ordersByRegion", "openOrders", "reviewQueue",
    "deletedOrders", "activity",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A tenant with an item in every list.

    `values` has the values that a stranger can send for each argument. `secrets` has texts that no other tenant has."""

    client: ApiClient
    values: Mapping[str, tuple[str, ...]]
    secrets: tuple[str, ...]

    def assignments(self, field_call: RootFieldCall) -> Iterator[dict[str, str]]:
        """Yields every combination of the tenant's values for the arguments of a call."""
        choices = [self._choices(name) for name in field_call.argument_names]
        for values in itertools.product(*choices):
            yield dict(zip(field_call.argument_names, values, strict=True))

    def _choices(self, name: str) -> tuple[str, ...]:
        assert name in self.values, f"give the neighbour an example of the argument {name}"
        return self.values[name]


async def create_neighbour(stack: ServiceStack) -> Neighbour:
    """Creates the tenant through the API. A new root field needs values for its arguments here, else tests fail."""
    client = stack.api_client(await stack.new_tenant())
    user = await client.data(
        'mutation { createUser(input: {email: "only-there@neighbour.example", name: "Secretive One"}) { id } }'
    )
    user_without_group = await client.data(
        'mutation { createUser(input: {email: "l@neighbour.example", name: "L"}) { id } }'
    )
    group = await client.data(
        'mutation { createGroup(input: {name: "Hidden Circle", description: "Unspoken"}) { id } }'
    )
    ids = {"u": user["createUser"]["id"], "g": group["createGroup"]["id"]}
    await client.data("mutation($u: ID!, $g: ID!) { addMember(userId: $u, groupId: $g) { role } }", **ids)
    await stack.api_client(client.tenant, Role.MEMBER, user=ids["u"]).data(
        'mutation($u: ID!) { putSetting(userId: $u, name: "hue", value: "Ultraviolet") { name } }', u=ids["u"]
    )
    store = await client.data(
        'mutation { createStore(input: {name: "Secretive One", latitude: 1.5, longitude: 1.5}) { id } }'
    )
    await client.data('mutation { createCategory(path: ["Hidden Shelf"]) { path } }')
    product = await client.data(
        'mutation { createProduct(input: {sku: "HIDDEN-1", name: "Secretive One", price: "9.5",'
        ' category: ["Hidden Shelf"]}) { id } }'
    )
    object_ids = (
        ids["u"],
        ids["g"],
        user_without_group["createUser"]["id"],
        store["createStore"]["id"],
        product["createProduct"]["id"],
    )
    customer, orders = await _create_customer_with_orders(client, object_ids[-1])
    everything = await client.data(READ_EVERYTHING)
    return Neighbour(
        client,
        {
            "id": (*object_ids, customer, *orders),
            "userId": object_ids[:3],
            "groupId": object_ids[:2],
            "customerId": (customer, orders[0]),
            "productId": (object_ids[-1], customer),
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
            "sid": ("some-session",),
            "sub": ("somebody-else",),
            "after": tuple(everything[name]["edges"][0]["cursor"] for name in LISTS_WITH_CURSORS),
        },
        ("only-there", "neighbour.example", "Secretive", "Hidden", "HIDDEN", "Unspoken", "Ultraviolet", client.tenant),
    )


async def _create_customer_with_orders(client: ApiClient, product: str) -> tuple[str, tuple[str, ...]]:
    """Creates a customer with an open order, an order in review and a deleted order."""
    created = await client.data(
        'mutation { createCustomer(input: {name: "Secretive One", email: "c@neighbour.example"}) { id } }'
    )
    customer: str = created["createCustomer"]["id"]
    line = {"productId": product, "quantity": 1}
    placed = await client.data(PLACE_ORDERS, input={"customerId": customer, "region": "Hidden Region", "items": [line]})
    ids = {name: order["id"] for name, order in placed.items()}
    await client.data(FLAG_AND_DELETE_ORDERS, flagged=ids["flagged"], deleted=ids["deleted"])
    return customer, tuple(ids.values())
