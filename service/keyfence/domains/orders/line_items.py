"""The lines of an order: what is wanted, what it costs, and how it is kept."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, localcontext
from typing import NewType, Protocol

from keyfence.domains.orders.model import OrderId, OrderTotal
from keyfence.errors import BadInput

ProductId = NewType("ProductId", str)

MOST_LINES = 90
MOST_PIECES = 10_000
_DIGITS = 76


@dataclass(frozen=True, slots=True)
class RequestedLine:
    """So many of a product. A product may be wanted in several lines."""

    product_id: ProductId
    quantity: int


class PricedProduct(Protocol):
    """A product as orders see it."""

    @property
    def sku(self) -> str: ...
    @property
    def price(self) -> Decimal: ...
    @property
    def currency(self) -> str: ...


Prices = Callable[[Sequence[ProductId]], Awaitable[Sequence[PricedProduct | None]]]
"""What each of these products is and costs now; None for what is not there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineItem:
    """A line as it was when the order was placed: later prices do not reach it."""

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
    if not 1 <= len(lines) <= MOST_LINES:
        raise BadInput(f"an order has 1 to {MOST_LINES} items, not {len(lines)}", field="items")
    for position, line in enumerate(lines, start=1):
        if not 1 <= line.quantity <= MOST_PIECES:
            raise BadInput(f"quantity must be from 1 to {MOST_PIECES}", field="quantity", position=position)
    return tuple(lines)


def checked_prices(found: Sequence[PricedProduct | None]) -> list[PricedProduct]:
    """Every product is there, and all are paid in one currency."""
    for position, product in enumerate(found, start=1):
        if product is None:
            raise BadInput("no such product", field="productId", position=position)
    known = [product for product in found if product]
    if len(currencies := sorted({product.currency for product in known})) > 1:
        raise BadInput(f"the items have more than one currency: {', '.join(currencies)}", field="items")
    return known


def line_items(
    order: OrderId, lines: Sequence[RequestedLine], priced: Sequence[PricedProduct], now: datetime
) -> list[LineItem]:
    return [
        LineItem(
            order_id=order,
            position=position,
            product_id=line.product_id,
            sku=product.sku,
            quantity=line.quantity,
            unit_price=product.price,
            created_at=now,
            updated_at=now,
        )
        for position, (line, product) in enumerate(zip(lines, priced, strict=True), start=1)
    ]


def order_total(items: Sequence[LineItem], currency: str) -> OrderTotal:
    """Exact: in as many digits as any lines with prices that can be kept may need."""
    with localcontext(prec=_DIGITS):
        total = sum((item.unit_price * item.quantity for item in items), Decimal(0))
    return OrderTotal(total=total, currency=currency, item_count=len(items))
