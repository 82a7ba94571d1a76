"""`RequestedLine`: a line of a request to place an order. `LineItem`: a stored line of an order, with its price."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, localcontext
from typing import NewType, Protocol

from keyfence.domains.orders.model import OrderId, OrderTotal
from keyfence.errors import BadInput

ProductId = NewType("ProductId", str)

MAX_LINES = 90
"""All lines of an order, its event, its row and other items must fit into one transaction of 100 writes."""
MAX_QUANTITY = 10_000
_DIGITS = 76
"""Two numbers of 38 digits, the most that DynamoDB stores, can be multiplied without rounding."""


@dataclass(frozen=True, slots=True)
class RequestedLine:
    """A product and a quantity that a caller orders. Several lines may have the same product."""

    product_id: ProductId
    quantity: int


class PricedProduct(Protocol):
    """The fields of a product that orders need."""

    @property
    def sku(self) -> str: ...
    @property
    def price(self) -> Decimal: ...
    @property
    def currency(self) -> str: ...


FindProducts = Callable[[Sequence[ProductId]], Awaitable[Sequence[PricedProduct | None]]]
"""A function that returns each product with its current price, or None if the product does not exist."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineItem:
    """A line of an order. `unit_price` is the price that the product had when the order was placed."""

    order_id: OrderId
    position: int
    product_id: ProductId
    sku: str
    quantity: int
    unit_price: Decimal
    created_at: datetime
    updated_at: datetime
    version: int = 1
    ttl: int | None = None


def checked_lines(lines: Sequence[RequestedLine]) -> tuple[RequestedLine, ...]:
    if not 1 <= len(lines) <= MAX_LINES:
        raise BadInput(f"an order has 1 to {MAX_LINES} items, not {len(lines)}", field="items")
    for position, line in enumerate(lines, start=1):
        if not 1 <= line.quantity <= MAX_QUANTITY:
            raise BadInput(f"quantity must be from 1 to {MAX_QUANTITY}", field="quantity", position=position)
    return tuple(lines)


def checked_products(products_or_none: Sequence[PricedProduct | None]) -> list[PricedProduct]:
    """Returns the products. Raises BadInput if a product does not exist, or if they have different currencies."""
    for position, product in enumerate(products_or_none, start=1):
        if product is None:
            raise BadInput("no such product", field="productId", position=position)
    products = [product for product in products_or_none if product]
    if len(currencies := sorted({product.currency for product in products})) > 1:
        raise BadInput(f"the items have more than one currency: {', '.join(currencies)}", field="items")
    return products


def new_line_items(
    order_id: OrderId, lines: Sequence[RequestedLine], products: Sequence[PricedProduct], now: datetime
) -> list[LineItem]:
    return [
        LineItem(
            order_id=order_id,
            position=position,
            product_id=line.product_id,
            sku=product.sku,
            quantity=line.quantity,
            unit_price=product.price,
            created_at=now,
            updated_at=now,
        )
        for position, (line, product) in enumerate(zip(lines, products, strict=True), start=1)
    ]


def order_total(items: Sequence[LineItem], currency: str) -> OrderTotal:
    """Returns the sum of the items, without rounding."""
    with localcontext(prec=_DIGITS):
        total = sum((item.unit_price * item.quantity for item in items), Decimal(0))
    return OrderTotal(total=total, currency=currency, item_count=len(items))
