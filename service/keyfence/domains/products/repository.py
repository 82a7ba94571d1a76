"""Products of the tenant that the table at hand belongs to."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import Any

from keyfence.domains.products.access_patterns import (
    product_by_id,
    product_by_sku,
    product_revisions,
    products,
    products_in_category,
    revisions_of_product,
    sku_claims,
)
from keyfence.domains.products.category_products import CategoryProducts
from keyfence.domains.products.model import (
    REVISIONS,
    Product,
    ProductId,
    ProductRevision,
    checked_currency,
    checked_name,
    checked_price,
    checked_sku,
    claim_of,
    revision_of,
)
from keyfence.errors import Conflict, NotFound
from keyfence.store import timestamps
from keyfence.store.expressions import absent
from keyfence.store.ids import checked_id, new_id
from keyfence.store.key_template import checked_path
from keyfence.store.keys import ValueRange
from keyfence.store.pagination import Page
from keyfence.store.table import Table
from keyfence.store.writes import ActivityNote, changed_fields, put, require_version, retry_if_stale, update_model

MISSING = partial(NotFound, "no such product")
TAKEN = partial(Conflict, "another product has this sku", field="sku")
_CHECKS: dict[str, Callable[[Any], Any]] = {
    "name": checked_name,
    "price": checked_price,
    "category": lambda names: checked_path(names, "category"),
}


def created_note(verb: str, product: Product) -> ActivityNote:
    """What the journal tells of a product that has not been there."""
    shown = ("sku", "name", "price", "currency", "category")
    return ActivityNote(f"product.{verb}", product.id, {"after": {name: getattr(product, name) for name in shown}})


def product_id(text: str, field: str = "id", **where: object) -> ProductId:
    return ProductId(checked_id("prd", text, field, **where))


@dataclass(frozen=True, slots=True)
class ProductRepository:
    """Everything that can be asked and done about products; `by` is in whose name they are revised."""

    table: Table
    by: str
    now: Callable[[], datetime] = timestamps.utc_now

    async def find(self, id: ProductId) -> Product | None:
        return await self.table.find(product_by_id, id=id)

    async def get(self, id: ProductId) -> Product:
        if (product := await self.find(id)) is None:
            raise MISSING()
        return product

    async def find_many(self, ids: Sequence[ProductId]) -> list[Product | None]:
        return await self.table.find_many(product_by_id, [{"id": id} for id in ids])

    async def find_by_sku(self, sku: str) -> Product | None:
        return await self.table.find(product_by_sku, sku=checked_sku(sku))

    async def in_category(
        self,
        path: Sequence[str],
        *,
        first: int,
        after: str | None,
        lowest: Decimal | None = None,
        highest: Decimal | None = None,
    ) -> Page[Product]:
        """By price, both ends included."""
        low = None if lowest is None else checked_price(lowest, "minPrice")
        high = None if highest is None else checked_price(highest, "maxPrice")
        category = checked_path(path, "path")
        return await self.table.page(
            products_in_category, first=first, after=after, between=ValueRange(low=low, high=high), category=category
        )

    async def revisions(self, id: ProductId, *, first: int, after: str | None) -> Page[ProductRevision]:
        """The latest state lies before the first revision, and stays out."""
        every = ValueRange(low=1, high=REVISIONS)
        return await self.table.page(revisions_of_product, first=first, after=after, between=every, product_id=id)

    async def create(self, *, sku: str, name: str, price: Decimal, currency: str, category: Sequence[str]) -> Product:
        now = self.now()
        product = Product(
            id=ProductId(new_id("prd")),
            sku=checked_sku(sku),
            name=checked_name(name),
            price=checked_price(price),
            currency=checked_currency(currency),
            category=checked_path(category, "category"),
            created_at=now,
            updated_at=now,
        )
        await retry_if_stale(lambda: self._create(product))
        return product

    async def _create(self, product: Product) -> None:
        async with CategoryProducts(self.table).explaining_refusal(product.category):
            await self.table.write(
                put(products, product, when=absent()),
                put(sku_claims, claim_of(product), when=absent(), on_failure=TAKEN),
                put(product_revisions, revision_of(product, self.by), when=absent()),
                *CategoryProducts.moved(None, product.category),
                note=created_note("created", product),
            )

    async def revise(self, id: ProductId, *, expected_version: int | None = None, **changes: Any) -> Product:
        return await retry_if_stale(lambda: self._revise(id, expected_version, changes), expected_version)

    async def _revise(self, id: ProductId, expected: int | None, changes: dict[str, Any]) -> Product:
        before = await self.get(id)
        require_version(before, expected, "product")
        after = self._changed(before, changes)
        if after != before:
            await self._write(before, after)
        return after

    async def _write(self, before: Product, after: Product) -> None:
        note = ActivityNote("product.revised", after.id, changed_fields(before, after, "name", "price", "category"))
        async with CategoryProducts(self.table).explaining_refusal(after.category):
            await self.table.write(
                update_model(products, before, after),
                update_model(sku_claims, claim_of(before), claim_of(after)),
                put(product_revisions, revision_of(after, self.by), when=absent()),
                *CategoryProducts.moved(before.category, after.category),
                note=note,
            )

    def _changed(self, before: Product, changes: dict[str, Any]) -> Product:
        after = replace(before, **{name: _CHECKS[name](value) for name, value in changes.items()})
        if after == before:
            return before
        if before.revision >= REVISIONS:
            raise Conflict(f"a product has at most {REVISIONS} revisions")
        return replace(after, revision=before.revision + 1, version=before.version + 1, updated_at=self.now())
