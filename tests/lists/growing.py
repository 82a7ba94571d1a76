"""For each list of the schema, how it grows by one."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.api.ordering import new_customer, new_product, wanted
from tests.world import Session

USER = "mutation($e: String!) { made: createUser(input: {email: $e, name: $e}) { id } }"
GROUP = "mutation($n: String!) { made: createGroup(input: {name: $n}) { id } }"
PRODUCT = """mutation($s: String!, $p: Decimal!) {
  made: createProduct(input: {sku: $s, name: $s, price: $p, category: ["pens"]}) { id } }"""

ORDER = "mutation($input: PlaceOrderInput!) { made: placeOrder(input: $input) { id } }"
FLAG = 'mutation($id: ID!) { made: flagOrder(id: $id, reason: "odd") { id } }'
DELETE = "mutation($id: ID!) { made: deleteOrder(id: $id) { id } }"


@dataclass(frozen=True, slots=True)
class Shop:
    """A tenant in which everything can be ordered at once."""

    session: Session
    customer: str
    product: str

    async def made(self, document: str, **variables: Any) -> str:
        return str((await self.session.ask(document, **variables))["made"]["id"])


async def opened(session: Session) -> Shop:
    return Shop(session, await new_customer(session), await new_product(session))


async def _user(shop: Shop, number: int) -> str:
    return await shop.made(USER, e=f"{number}@shop.example")


async def _group(shop: Shop, number: int) -> str:
    return await shop.made(GROUP, n=f"{number % 10}{number}")


async def _product(shop: Shop, number: int) -> str:
    return await shop.made(PRODUCT, s=f"S{number}", p=f"{number % 9}.5")


async def _customer(shop: Shop, number: int) -> str:
    return await new_customer(shop.session)


async def _order(shop: Shop, number: int) -> str:
    return await shop.made(ORDER, input=wanted(shop.customer, (shop.product, 1)))


async def _flagged(shop: Shop, number: int) -> str:
    return await shop.made(FLAG, id=await _order(shop, number))


async def _deleted(shop: Shop, number: int) -> str:
    return await shop.made(DELETE, id=await _order(shop, number))


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """What adds one to a list and says what it will be known by there; `at_end` where new ones always come last."""

    add: Callable[[Shop, int], Awaitable[str]]
    known_by: str = "id"
    arguments: Mapping[str, Any] = field(default_factory=dict)
    at_end: bool = False


GROWTHS: Mapping[str, Growth] = {
    "users": Growth(add=_user),
    "groups": Growth(add=_group),
    "customers": Growth(add=_customer),
    "productsInCategory": Growth(add=_product, arguments={"path": ["pens"]}),
    "ordersByRegion": Growth(add=_order, arguments={"region": "north"}, at_end=True),
    "openOrders": Growth(add=_order, at_end=True),
    "reviewQueue": Growth(add=_flagged, at_end=True),
    "deletedOrders": Growth(add=_deleted),
    "activity": Growth(add=_customer, known_by="target"),
}
