"""The items of an order in lines, and what they come to."""

from collections.abc import Sequence
from datetime import datetime

from keyfence.bulk.fields import Given, amount, text, whole
from keyfence.bulk.spelling import Line, part
from keyfence.domains.orders.line_items import MOST_LINES, MOST_PIECES, LineItem, ProductId, billed
from keyfence.domains.orders.model import Bill, OrderId
from keyfence.domains.products.model import checked_currency, checked_price, checked_sku
from keyfence.domains.products.repository import product_id
from keyfence.store.money import money


def read(given: Given, order: OrderId, created: datetime) -> tuple[LineItem, ...]:
    parts = given.parts("items")
    if not 1 <= len(parts) <= MOST_LINES:
        raise given.bad("items", f"must be 1 to {MOST_LINES}")
    return tuple(_item(one, order, position, created) for position, one in enumerate(parts, start=1))


def _item(given: Given, order: OrderId, position: int, created: datetime) -> LineItem:
    given.only("productId", "sku", "quantity", "unitPrice")
    quantity = given.take("quantity", whole)
    if quantity > MOST_PIECES:
        raise given.bad("quantity", f"must be from 1 to {MOST_PIECES}")
    return LineItem(
        order_id=order,
        position=position,
        product_id=given.take("productId", lambda value: ProductId(product_id(text(value)))),
        sku=given.take("sku", lambda value: checked_sku(text(value))),
        quantity=quantity,
        unit_price=given.take("unitPrice", lambda value: checked_price(amount(value), "unitPrice")),
        created_at=created,
        updated_at=created,
    )


def bill(given: Given, items: Sequence[LineItem]) -> Bill:
    made = billed(items, given.take("currency", lambda value: checked_currency(text(value))))
    if given.maybe("total", amount, made.total) != made.total:
        raise given.bad("total", f"must be {money(made.total)}, which is what the items come to")
    return made


def spell(item: LineItem) -> Line:
    price = money(item.unit_price)
    return part(productId=item.product_id, sku=item.sku, quantity=item.quantity, unitPrice=price)
