"""`CanaryTenant`: a tenant with an item in every list, in which every text contains a canary."""

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from keyfence.auth.principal import Role
from tests.failures.tenant_snapshot import ID
from tests.stack import ApiClient, ServiceStack

READ_EVERYTHING = """query($region: String!, $path: [String!]!) {
  viewer { subject tenant { id name } }
  users(first: 20) { edges { cursor node { id email name settings { name value } activity { edges { cursor } }
    groups { edges { cursor } } } } }
  groups(first: 20) { edges { cursor node { id name description members { edges { cursor node { id } } } } } }
  storesNear(latitude: 1.5, longitude: 1.5, radiusKm: 100) { store { id name } }
  categories { path }
  productsInCategory(path: $path) { edges { cursor node { id sku name
    revisions { edges { cursor node { name by } } } } } }
  customers(first: 5) { edges { cursor node { id name email orders(first: 5) { edges { cursor node { id } } } } } }
  ordersByRegion(region: $region) { edges { cursor node { id region history { note by } } } }
  openOrders { edges { cursor node { id region items { sku } } } }
  reviewQueue { edges { cursor node { id history { note } } } }
  deletedOrders { edges { cursor node { id } } }
  activity(first: 50) { edges { cursor node { id by target detail } } }
}"""
CREATE = """mutation($user: CreateUserInput!, $member: CreateUserInput!, $group: CreateGroupInput!,
    $store: CreateStoreInput!, $path: [String!]!, $inner: [String!]!, $product: CreateProductInput!,
    $customer: CreateCustomerInput!) {
  user: createUser(input: $user) { id }
  member: createUser(input: $member) { id }
  group: createGroup(input: $group) { id }
  store: createStore(input: $store) { id }
  createCategory(path: $path) { path }
  inner: createCategory(path: $inner) { path }
  product: createProduct(input: $product) { id }
  customer: createCustomer(input: $customer) { id }
}"""
CONNECT = """mutation($user: ID!, $member: ID!, $group: ID!, $product: ID!, $revision: ReviseProductInput!,
    $order: PlaceOrderInput!, $hidden: PlaceOrderInput!, $key: String!, $setting: String!, $value: JSON!) {
  addMember(groupId: $group, userId: $user) { role }
  other: addMember(groupId: $group, userId: $member) { role }
  putSetting(userId: $user, name: $setting, value: $value) { name }
  reviseProduct(id: $product, input: $revision) { id }
  plain: placeOrder(input: $order, idempotencyKey: $key) { id }
  flagged: placeOrder(input: $hidden) { id }
  deleted: placeOrder(input: $order) { id }
}"""
CHANGE_ORDERS = """mutation($plain: ID!, $flagged: ID!, $deleted: ID!, $note: String!, $reason: String!) {
  transitionOrder(id: $plain, to: CONFIRMED, note: $note) { id }
  flagOrder(id: $flagged, reason: $reason) { id }
  deleteOrder(id: $deleted) { id }
}"""
WITHHELD_IDS = ("member", "store", "flagged")
"""The objects whose ids no other tenant sends. So their ids are canaries too."""


class Canaries:
    """Texts that only one tenant has. Every new text is another one."""

    def __init__(self, tenant_mark: str) -> None:
        self.secret_mark = f"zq{tenant_mark}s"
        """Every text that no other tenant sends contains this mark."""
        self._known_mark = f"zq{tenant_mark}k"
        self._numbers = itertools.count(1)

    def secret(self) -> str:
        return f"{self.secret_mark}{next(self._numbers)}"

    def known(self) -> str:
        """Returns a text by which another tenant searches, such as an email."""
        return f"{self._known_mark}{next(self._numbers)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryTenant:
    """A tenant with an item in every list.

    `values` has the values that another tenant may send, by the name of an argument. `secrets` has the texts that no
    other tenant sends: a response to another tenant must contain none of them."""

    client: ApiClient
    values: Mapping[str, Sequence[str]]
    secrets: tuple[str, ...]

    def found_in(self, response: str) -> list[str]:
        """Returns the secrets that a response contains."""
        return [secret for secret in self.secrets if secret in response]


async def create_canary_tenant(stack: ServiceStack, name: str, mark: str) -> CanaryTenant:
    canaries = Canaries(mark)
    client = stack.api_client(await stack.new_tenant(name), user=canaries.secret())
    known = {name: canaries.known() for name in ("email", "group", "shelf", "sku", "region", "key", "setting")}
    ids = await _create_objects(client, canaries, known)
    read = await client.data(READ_EVERYTHING, region=known["region"], path=[known["shelf"]])
    return CanaryTenant(
        client=client,
        values={
            "tenant": [name],
            "id": [id for noun, id in ids.items() if noun not in WITHHELD_IDS],
            "email": [f"{known['email']}@x.example"],
            "name": [known["group"], known["setting"]],
            "sku": [known["sku"]],
            "region": [known["region"]],
            "path": [known["shelf"]],
            "idempotencyKey": [known["key"]],
            "after": list(cursors_in(read)),
        },
        secrets=(canaries.secret_mark, *(ids[noun] for noun in WITHHELD_IDS), name.title()),
    )


async def read_everything(tenant: CanaryTenant) -> str:
    values = tenant.values
    return json.dumps(await tenant.client.data(READ_EVERYTHING, region=values["region"][0], path=values["path"]))


async def _create_objects(client: ApiClient, canaries: Canaries, known: Mapping[str, str]) -> dict[str, str]:
    """Returns the ids of the objects by their nouns."""
    secret = canaries.secret
    created = await client.data(
        CREATE,
        user={"email": f"{known['email']}@x.example", "name": secret(), "role": Role.ADMIN},
        member={"email": f"{secret()}@x.example", "name": secret()},
        group={"name": known["group"], "description": secret()},
        store={"name": secret(), "latitude": 1.5, "longitude": 1.5},
        path=[known["shelf"]],
        inner=[known["shelf"], secret()],
        product={"sku": known["sku"], "name": secret(), "price": "9.50", "category": [known["shelf"]]},
        customer={"name": secret(), "email": f"{secret()}@x.example"},
    )
    ids = {noun: made["id"] for noun, made in created.items() if "id" in made}
    order = {"customerId": ids["customer"], "items": [{"productId": ids["product"], "quantity": 2}]}
    connected = await client.data(
        CONNECT,
        **{noun: ids[noun] for noun in ("user", "member", "group", "product")},
        revision={"name": secret()},
        order={**order, "region": known["region"]},
        hidden={**order, "region": secret()},
        key=known["key"],
        setting=known["setting"],
        value={"shelf": [secret()]},
    )
    orders = {noun: connected[noun]["id"] for noun in ("plain", "flagged", "deleted")}
    await client.data(CHANGE_ORDERS, **orders, note=secret(), reason=secret())
    return ids | orders


def cursors_in(value: Any) -> Iterator[str]:
    """Yields the cursors in the data of a response."""
    if isinstance(value, list):
        for item in value:
            yield from cursors_in(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from [item] if key in {"cursor", "endCursor"} and item else cursors_in(item)


def ids_in(response: str) -> set[str]:
    """Returns the ids of objects in a response."""
    return set(ID.findall(response))
