"""`ProductRepository`: reads and writes the products of one tenant and their revisions."""

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
    MAX_REVISIONS,
    Product,
    ProductId,
    ProductRevision,
    checked_currency,
    checked_name,
    checked_price,
    checked_sku,
    revision_of,
    sku_claim,
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

PRODUCT_NOT_FOUND = partial(NotFound, "no such product")
SKU_TAKEN = partial(Conflict, "another product has this sku", field="sku")
_CHECKS_BY_FIELD: dict[str, Callable[[Any], Any]] = {
    "name": checked_name,
    "price": checked_price,
    "category": lambda names: checked_path(names, "category"),
}


def created_note(verb: str, product: Product) -> ActivityNote:
    """Returns the activity note for a new product. `verb` is `created` or `imported`."""
    logged_fields = ("sku", "name", "price", "currency", "category")
    return ActivityNote(
        f"product.{verb}", product.id, {"after": {name: getattr(product, name) for name in logged_fields}}
    )


def checked_product_id(text: str, field: str = "id", **error_details: object) -> ProductId:
    return ProductId(checked_id("prd", text, field, **error_details))


@dataclass(frozen=True, slots=True)
class ProductRepository:
    """The products of the tenant that the table belongs to. New revisions record the `actor`."""

    table: Table
    actor: str
    now: Callable[[], datetime] = timestamps.utc_now

    async def find(self, id: ProductId) -> Product | None:
        return await self.table.find(product_by_id, id=id)

    async def get(self, id: ProductId) -> Product:
        if (product := await self.find(id)) is None:
            raise PRODUCT_NOT_FOUND()
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
        min_price: Decimal | None = None,
        max_price: Decimal | None = None,
    ) -> Page[Product]:
        """Returns the products of one category, cheapest first. Both price bounds are included."""
        low = None if min_price is None else checked_price(min_price, "minPrice")
        high = None if max_price is None else checked_price(max_price, "maxPrice")
        category = checked_path(path, "path")
        return await self.table.page(
            products_in_category, first=first, after=after, between=ValueRange(low=low, high=high), category=category
        )

    async def revisions(self, id: ProductId, *, first: int, after: str | None) -> Page[ProductRevision]:
        """Returns the revisions, newest first.

        The range begins at 1, because the product itself is stored under the sort key of revision 0."""
        all_revisions = ValueRange(low=1, high=MAX_REVISIONS)
        return await self.table.page(
            revisions_of_product, first=first, after=after, between=all_revisions, product_id=id
        )

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
        async with CategoryProducts(self.table).explain_failure(product.category):
            await self.table.write(
                put(products, product, when=absent()),
                put(sku_claims, sku_claim(product), when=absent(), on_failure=SKU_TAKEN),
                put(product_revisions, revision_of(product, self.actor), when=absent()),
                *CategoryProducts.count_writes(None, product.category),
                note=created_note("created", product),
            )

    async def revise(self, id: ProductId, *, expected_version: int | None = None, **changes: Any) -> Product:
        return await retry_if_stale(lambda: self._revise(id, expected_version, changes))

    async def _revise(self, id: ProductId, expected_version: int | None, changes: dict[str, Any]) -> Product:
        before = await self.get(id)
        require_version(before, expected_version, "product")
        after = self._with_changes(before, changes)
        if after != before:
            await self._write_revision(before, after)
        return after

    async def _write_revision(self, before: Product, after: Product) -> None:
        note = ActivityNote("product.revised", after.id, changed_fields(before, after, "name", "price", "category"))
        async with CategoryProducts(self.table).explain_failure(after.category):
            await self.table.write(
                update_model(products, before, after),
                update_model(sku_claims, sku_claim(before), sku_claim(after)),
                put(product_revisions, revision_of(after, self.actor), when=absent()),
                *CategoryProducts.count_writes(before.category, after.category),
                note=note,
            )

    def _with_changes(self, before: Product, changes: dict[str, Any]) -> Product:
        """Returns the product in its next revision, or unchanged if all values are the same."""
        after = replace(before, **{name: _CHECKS_BY_FIELD[name](value) for name, value in changes.items()})
        if after == before:
            return before
        if before.revision >= MAX_REVISIONS:
            raise Conflict(f"a product has at most {MAX_REVISIONS} revisions")
        return replace(after, revision=before.revision + 1, version=before.version + 1, updated_at=self.now())
