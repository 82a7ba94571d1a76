"""Products, and the rules that hold without looking anything up."""

import re
from dataclasses import dataclass, fields
from datetime import datetime
from decimal import Decimal
from typing import NewType

from keyfence.errors import BadInput
from keyfence.store.key_template import KeyPath
from keyfence.validation import checked_line

ProductId = NewType("ProductId", str)

SKU_LENGTH = 100
NAME_LENGTH = 200
HIGHEST_PRICE = Decimal("9999999.99")
REVISIONS = 9_999

_CENT = Decimal("0.01")
_CURRENCY = re.compile(r"[A-Z]{3}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """A thing that is sold, as it is now."""

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
    """The one item that can hold a SKU, so that no two products of a tenant share it; it is the whole product."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductRevision:
    """What a product was from one moment on, until its next revision; `by` is who made it so."""

    product_id: ProductId
    revision: int
    name: str
    price: Decimal
    by: str
    created_at: datetime
    updated_at: datetime
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryRef:
    """What products need to know of a category: how many are in it, and whether it is on its way elsewhere."""

    path: KeyPath
    created_at: datetime
    updated_at: datetime
    product_count: int = 0
    moving: str | None = None
    version: int = 1


def claim_of(product: Product) -> SkuClaim:
    return SkuClaim(**{one.name: getattr(product, one.name) for one in fields(product)})


def revision_of(product: Product, by: str) -> ProductRevision:
    return ProductRevision(
        product_id=product.id,
        revision=product.revision,
        name=product.name,
        price=product.price,
        by=by,
        created_at=product.updated_at,
        updated_at=product.updated_at,
    )


def views_of(id: ProductId) -> str:
    """The counter of those who looked at it."""
    return f"views-{id}"


def checked_sku(sku: str) -> str:
    return checked_line(sku, "sku", SKU_LENGTH)


def checked_name(name: str) -> str:
    return checked_line(name, "name", NAME_LENGTH)


def checked_price(price: Decimal, field: str = "price") -> Decimal:
    if not price.is_finite() or not 0 <= price <= HIGHEST_PRICE or price != price.quantize(_CENT):
        raise BadInput(f"{field} must be from 0 to {HIGHEST_PRICE}, with at most two decimals", field=field)
    return price.quantize(_CENT) + 0


def checked_currency(currency: str) -> str:
    if not _CURRENCY.fullmatch(currency):
        raise BadInput("currency must be three capital letters, like EUR", field="currency")
    return currency
