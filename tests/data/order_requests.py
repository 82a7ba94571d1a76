"""Requests of the tenants' API that create customers, products and orders."""

from typing import Any

from tests.stack import ApiClient

CUSTOMER = 'mutation($n: String! = "Ann", $e: String) { createCustomer(input: {name: $n, email: $e}) { id version } }'
PRODUCT = """mutation($s: String!, $p: Decimal!, $c: String) {
  createProduct(input: {sku: $s, name: $s, price: $p, currency: $c, category: ["pens"]}) { id } }"""
PLACE = """mutation($input: PlaceOrderInput!, $key: String) { placeOrder(input: $input, idempotencyKey: $key) {
  id version status region currency total flagged createdAt updatedAt customer { id name }
  items { position sku quantity unitPrice product { id name } } history { kind by from to note }
} }"""
TRANSITION = """mutation($id: ID!, $to: OrderStatus!, $v: Int, $note: String) {
  transitionOrder(id: $id, to: $to, expectedVersion: $v, note: $note) { id status version } }"""
FLAG = 'mutation($id: ID!) { flagOrder(id: $id, reason: "odd") { id flagged version } }'
CLAIM = "mutation { claimReview { id flagged history { kind by } } }"
DELETE = "mutation($id: ID!) { deleteOrder(id: $id) { id version } }"
RESTORE = "mutation($id: ID!) { restoreOrder(id: $id) { id version } }"


async def new_customer(session: ApiClient, name: str = "Ann") -> str:
    made: str = (await session.data(CUSTOMER, n=name))["createCustomer"]["id"]
    return made


async def new_product(session: ApiClient, sku: str = "PEN", price: str = "1.10", currency: str = "EUR") -> str:
    await session.execute('mutation { createCategory(path: ["pens"]) { name } }')
    made: str = (await session.data(PRODUCT, s=sku, p=price, c=currency))["createProduct"]["id"]
    return made


def order_input(customer: str, *lines: tuple[str, int], region: str = "north") -> dict[str, Any]:
    items = [{"productId": product, "quantity": quantity} for product, quantity in lines]
    return {"customerId": customer, "region": region, "items": items}


async def place_order(session: ApiClient, request: dict[str, Any], key: str | None = None) -> dict[str, Any]:
    order: dict[str, Any] = (await session.data(PLACE, input=request, key=key))["placeOrder"]
    return order
