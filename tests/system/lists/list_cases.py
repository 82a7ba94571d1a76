"""`LIST_CASES`: for each list of the schema, how to add an element to it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from tests.data.order_requests import new_customer, new_product, order_input
from tests.stack import ApiClient, ServiceStack

CREATE_USER = "mutation($email: String!) { created: createUser(input: {email: $email, name: $email}) { id } }"
CREATE_GROUP = "mutation($name: String!) { created: createGroup(input: {name: $name}) { id } }"
CREATE_PRODUCT = """mutation($sku: String!, $price: Decimal!) {
  created: createProduct(input: {sku: $sku, name: $sku, price: $price, category: ["pens"]}) { id } }"""

PLACE_ORDER = "mutation($input: PlaceOrderInput!) { created: placeOrder(input: $input) { id } }"
FLAG_ORDER = 'mutation($id: ID!) { flagged: flagOrder(id: $id, reason: "odd") { id } }'
DELETE_ORDER = "mutation($id: ID!) { deleted: deleteOrder(id: $id) { id } }"
ADD_MEMBER = "mutation($group: ID!, $user: ID!) { added: addMember(groupId: $group, userId: $user) { joinedAt } }"
REVISE_PRODUCT = (
    "mutation($id: ID!, $price: Decimal!) { revised: reviseProduct(id: $id, input: {price: $price}) { id: revision } }"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shop:
    """A tenant with everything that an order needs, and ids of its objects."""

    client: ApiClient
    user: str
    group: str
    customer: str
    product: str

    async def run(self, document: str, **variables: Any) -> str:
        return await _run(self.client, document, **variables)


async def new_shop(stack: ServiceStack) -> Shop:
    tenant = await stack.new_tenant()
    user = await _run(stack.api_client(tenant), CREATE_USER, email="owner@shop.example")
    client = stack.api_client(tenant, user=user)
    group = await _run(client, CREATE_GROUP, name="staff")
    customer, product = await new_customer(client), await new_product(client)
    return Shop(client=client, user=user, group=group, customer=customer, product=product)


async def _run(client: ApiClient, document: str, **variables: Any) -> str:
    """Returns the id in the response of a mutation."""
    (response,) = (await client.data(document, **variables)).values()
    return str(response["id"])


async def _add_user(shop: Shop, number: int) -> str:
    return await shop.run(CREATE_USER, email=f"{number}@shop.example")


async def _add_group(shop: Shop, number: int) -> str:
    return await shop.run(CREATE_GROUP, name=f"{number % 10}{number}")


async def _add_product(shop: Shop, number: int) -> str:
    return await shop.run(CREATE_PRODUCT, sku=f"S{number}", price=f"{number % 9}.5")


async def _add_customer(shop: Shop, number: int) -> str:
    return await new_customer(shop.client)


async def _add_order(shop: Shop, number: int) -> str:
    return await shop.run(PLACE_ORDER, input=order_input(shop.customer, (shop.product, 1)))


async def _add_flagged_order(shop: Shop, number: int) -> str:
    return await shop.run(FLAG_ORDER, id=await _add_order(shop, number))


async def _add_deleted_order(shop: Shop, number: int) -> str:
    return await shop.run(DELETE_ORDER, id=await _add_order(shop, number))


async def _add_member(shop: Shop, number: int) -> str:
    user = await _add_user(shop, number)
    await shop.client.data(ADD_MEMBER, group=shop.group, user=user)
    return user


async def _add_group_of_user(shop: Shop, number: int) -> str:
    group = await _add_group(shop, number)
    await shop.client.data(ADD_MEMBER, group=group, user=shop.user)
    return group


async def _add_revision(shop: Shop, number: int) -> str:
    return await shop.run(REVISE_PRODUCT, id=shop.product, price=f"{number}.5")


@dataclass(frozen=True, slots=True, kw_only=True)
class ListCase:
    """A list that is read with some arguments."""

    add: Callable[[Shop, int], Awaitable[str]]
    """Adds an element to the list. Returns the value of its `id_field`. The number is different in each call."""
    parent: Callable[[Shop], str] | None = None
    """Returns the id of the object that has the list. None for a list of the query type."""
    id_field: str = "id"
    """The field that identifies an element of the list."""
    arguments: Mapping[str, str] = field(default_factory=dict)
    adds_at_end: bool = False
    """Whether new elements always come last."""


LIST_CASES: Mapping[str, Sequence[ListCase]] = {
    "Query.users": [ListCase(add=_add_user)],
    "Query.groups": [ListCase(add=_add_group)],
    "Query.customers": [ListCase(add=_add_customer)],
    "Query.productsInCategory": [
        ListCase(add=_add_product, arguments={"path": '["pens"]'}),
        ListCase(add=_add_product, arguments={"path": '["pens"]', "minPrice": '"0.5"', "maxPrice": '"8.5"'}),
    ],
    "Query.ordersByRegion": [
        ListCase(add=_add_order, arguments={"region": '"north"'}, adds_at_end=True),
        ListCase(
            add=_add_order,
            arguments={"region": '"north"', "from": '"2020-01-01"', "to": '"2199-12-31"'},
            adds_at_end=True,
        ),
    ],
    "Query.openOrders": [ListCase(add=_add_order, adds_at_end=True)],
    "Query.reviewQueue": [ListCase(add=_add_flagged_order, adds_at_end=True)],
    "Query.deletedOrders": [ListCase(add=_add_deleted_order)],
    "Query.activity": [ListCase(add=_add_customer, id_field="target")],
    "Customer.orders": [
        ListCase(add=_add_order, parent=attrgetter("customer")),
        ListCase(add=_add_order, parent=attrgetter("customer"), arguments={"status": "PENDING"}),
    ],
    "Group.members": [ListCase(add=_add_member, parent=attrgetter("group"), adds_at_end=True)],
    "User.groups": [ListCase(add=_add_group_of_user, parent=attrgetter("user"), adds_at_end=True)],
    "User.activity": [ListCase(add=_add_customer, parent=attrgetter("user"), id_field="target")],
    "Product.revisions": [ListCase(add=_add_revision, parent=attrgetter("product"), id_field="revision")],
}
