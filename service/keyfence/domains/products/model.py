"""`Product` and `ProductRevision`, and checks of their fields that need no read of the table."""

import re
from dataclasses import dataclass, fields
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import NewType

from keyfence.errors import BadInput
from keyfence.store.key_template import KeyPath
from keyfence.validation import checked_line

ProductId = NewType("ProductId", str)

MAX_SKU_LENGTH = 100
MAX_NAME_LENGTH = 200
MAX_PRICE = Decimal("9999999.99")
"""The sort key of a category's products has ten characters for the price, including the decimal point."""
MAX_REVISIONS = 9_999
"""The sort key of a revision has four digits for its number."""

_CENT = Decimal("0.01")
_CURRENCY = re.compile(r"[A-Z]{3}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """A product in its latest revision."""

    id: ProductId
    sku: str
    name: str
    price: Decimal
    currency: str
    category: KeyPath
    created_at: datetime
    updated_at: datetime
    revision: int = 1
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SkuClaim(Product):
    """A copy of a product with the SKU in its key. A table has each key only once, so no two products of a tenant share
    a SKU."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductRevision:
    """A product as it was from `created_at` until its next revision. `actor` made the change."""

    product_id: ProductId
    revision: int
    name: str
    price: Decimal
    actor: str
    created_at: datetime
    updated_at: datetime
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryRef:
    """The part of a category's item that products need. `product_count` is the number of products in the category.

    `move_state` is set while the category is being moved."""

    path: KeyPath
    created_at: datetime
    updated_at: datetime
    product_count: int = 0
    move_state: str | None = None
    version: int = 1


def sku_claim(product: Product) -> SkuClaim:
    return SkuClaim(**{field.name: getattr(product, field.name) for field in fields(product)})


def revision_of(product: Product, actor: str) -> ProductRevision:
    """Returns the revision that records the current state of the product. `actor` made the latest change."""
    return ProductRevision(
        product_id=product.id,
        revision=product.revision,
        name=product.name,
        price=product.price,
        actor=actor,
        created_at=product.updated_at,
        updated_at=product.updated_at,
    )


def view_counter_name(id: ProductId) -> str:
    """Returns the name of the counter of the product's views."""
    return f"views-{id}"


checked_sku = partial(checked_line, field="sku", max_length=MAX_SKU_LENGTH)
checked_name = partial(checked_line, field="name", max_length=MAX_NAME_LENGTH)


def checked_price(price: Decimal, field: str = "price") -> Decimal:
    if not price.is_finite() or not 0 <= price <= MAX_PRICE or price != price.quantize(_CENT):
        raise BadInput(f"{field} must be from 0 to {MAX_PRICE}, with at most two decimals", field=field)
    return price.quantize(_CENT) + 0  # + 0 turns -0.00 into 0.00


def checked_currency(currency: str) -> str:
    if not _CURRENCY.fullmatch(currency):
        raise BadInput("currency must be three capital letters, like EUR", field="currency")
    return currency
