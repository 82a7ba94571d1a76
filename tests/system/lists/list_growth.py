"""How to add one element to each list of the schema."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from tests.data.order_requests import new_customer, new_product, order_input
from tests.stack import ApiClient, ServiceStack

USER = "mutation($e: String!) { made: createUser(input: {email: $e, name: $e}) { id } }"
GROUP = "mutation($n: String!) { made: createGroup(input: {name: $n}) { id } }"
PRODUCT = """mutation($s: String!, $p: Decimal!) {
  made: createProduct(input: {sku: $s, name: $s, price: $p, category: ["pens"]}) { id } }"""

ORDER = "mutation($input: PlaceOrderInput!) { made: placeOrder(input: $input) { id } }"
FLAG = 'mutation($id: ID!) { made: flagOrder(id: $id, reason: "odd") { id } }'
DELETE = "mutation($id: ID!) { made: deleteOrder(id: $id) { id } }"
JOIN = "mutation($g: ID!, $u: ID!) { made: addMember(groupId: $g, userId: $u) { joinedAt } }"
REVISE = "mutation($id: ID!, $p: Decimal!) { made: reviseProduct(id: $id, input: {price: $p}) { id: revision } }"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shop:
    """A tenant with everything that an order needs, and a user."""

    session: ApiClient
    user: str
    group: str
    customer: str
    product: str

    async def made(self, document: str, **variables: Any) -> str:
        return await _made(self.session, document, **variables)


async def open_shop(stack: ServiceStack) -> Shop:
    tenant = await stack.new_tenant()
    user = await _made(stack.api_client(tenant), USER, e="owner@shop.example")
    session = stack.api_client(tenant, user=user)
    group = await _made(session, GROUP, n="staff")
    customer, product = await new_customer(session), await new_product(session)
    return Shop(session=session, user=user, group=group, customer=customer, product=product)


async def _made(session: ApiClient, document: str, **variables: Any) -> str:
    return str((await session.data(document, **variables))["made"]["id"])


async def _user(shop: Shop, number: int) -> str:
    return await shop.made(USER, e=f"{number}@shop.example")


async def _group(shop: Shop, number: int) -> str:
    return await shop.made(GROUP, n=f"{number % 10}{number}")


async def _product(shop: Shop, number: int) -> str:
    return await shop.made(PRODUCT, s=f"S{number}", p=f"{number % 9}.5")


async def _customer(shop: Shop, number: int) -> str:
    return await new_customer(shop.session)


async def _order(shop: Shop, number: int) -> str:
    return await shop.made(ORDER, input=order_input(shop.customer, (shop.product, 1)))


async def _flagged(shop: Shop, number: int) -> str:
    return await shop.made(FLAG, id=await _order(shop, number))


async def _deleted(shop: Shop, number: int) -> str:
    return await shop.made(DELETE, id=await _order(shop, number))


async def _member(shop: Shop, number: int) -> str:
    user = await _user(shop, number)
    await shop.session.data(JOIN, g=shop.group, u=user)
    return user


async def _group_of_user(shop: Shop, number: int) -> str:
    group = await _group(shop, number)
    await shop.session.data(JOIN, g=group, u=shop.user)
    return group


async def _revision(shop: Shop, number: int) -> str:
    return await shop.made(REVISE, id=shop.product, p=f"{number}.5")


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """Adds one element to a list. `known_by` is the field that identifies it there, `of` the object that has the list,
    and `at_end` says that new elements always come last."""

    add: Callable[[Shop, int], Awaitable[str]]
    of: Callable[[Shop], str] | None = None
    known_by: str = "id"
    arguments: Mapping[str, str] = field(default_factory=dict)
    at_end: bool = False


GROWTHS: Mapping[str, Sequence[Growth]] = {
    "Query.users": [Growth(add=_user)],
    "Query.groups": [Growth(add=_group)],
    "Query.customers": [Growth(add=_customer)],
    "Query.productsInCategory": [
        Growth(add=_product, arguments={"path": '["pens"]'}),
        Growth(add=_product, arguments={"path": '["pens"]', "minPrice": '"0.5"', "maxPrice": '"8.5"'}),
    ],
    "Query.ordersByRegion": [
        Growth(add=_order, arguments={"region": '"north"'}, at_end=True),
        Growth(add=_order, arguments={"region": '"north"', "from": '"2020-01-01"', "to": '"2199-12-31"'}, at_end=True),
    ],
    "Query.openOrders": [Growth(add=_order, at_end=True)],
    "Query.reviewQueue": [Growth(add=_flagged, at_end=True)],
    "Query.deletedOrders": [Growth(add=_deleted)],
    "Query.activity": [Growth(add=_customer, known_by="target")],
    "Customer.orders": [
        Growth(add=_order, of=attrgetter("customer")),
        Growth(add=_order, of=attrgetter("customer"), arguments={"status": "PENDING"}),
    ],
    "Group.members": [Growth(add=_member, of=attrgetter("group"), at_end=True)],
    "User.groups": [Growth(add=_group_of_user, of=attrgetter("user"), at_end=True)],
    "User.activity": [Growth(add=_customer, of=attrgetter("user"), known_by="target")],
    "Product.revisions": [Growth(add=_revision, of=attrgetter("product"), known_by="revision")],
}
