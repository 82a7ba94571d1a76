"""`CategoryProducts`: counts the products of each category, and moves products to another category."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

from keyfence.domains.products.access_patterns import (
    category_ref_by_path,
    category_refs,
    product_by_id,
    products,
    products_in_category,
    sku_claims,
)
from keyfence.domains.products.model import Product, sku_claim
from keyfence.errors import BadInput, Conflict, KeyfenceError, Throttled
from keyfence.store import timestamps
from keyfence.store.expressions import UpdateExpression, absent
from keyfence.store.key_template import KeyPath
from keyfence.store.table import MAX_SPLIT_TRANSACTION_WRITES, Table
from keyfence.store.writes import StaleWrite, Write, update_attributes, update_model

MOVE_BATCH = (MAX_SPLIT_TRANSACTION_WRITES - 3) // 2
"""How many products one transaction moves. Each needs two writes. Three more writes are the guard and the counts of the
two categories."""
MAX_ROUNDS = 50
"""How often the index is read, at most, until all products are moved."""


class _CategoryUnavailable(Conflict):
    """Raised if a product cannot be added to a category, because the category does not exist or is being moved."""

    def __init__(self) -> None:
        super().__init__("no product can be added to the category now")


@dataclass(frozen=True, slots=True)
class CategoryProducts:
    """The products in the categories of the tenant that the table belongs to."""

    table: Table

    @staticmethod
    def count_writes(before: KeyPath | None, after: KeyPath) -> Iterator[Write[Any]]:
        """Yields the writes that subtract one product from the count of `before`, and add one to the count of `after`.

        A product can leave a category that is being moved, but cannot be added to it."""
        if before == after:
            return
        if before is not None:
            yield _add_to_count(before, -1)
        add_one = UpdateExpression(adds={("productCount",): 1})
        yield update_attributes(
            category_refs, {"path": after}, add_one, when=absent("moveState"), on_failure=_CategoryUnavailable
        )

    @asynccontextmanager
    async def explain_failure(self, path: KeyPath) -> AsyncIterator[None]:
        """Surrounds a write that adds a product to a category. If the category accepts no product, raises an error
        with the reason: the category does not exist, or is being moved."""
        try:
            yield
        except _CategoryUnavailable:
            raise await self._failure_reason(path) from None

    async def _failure_reason(self, path: KeyPath) -> KeyfenceError:
        category = await self.table.find(category_ref_by_path, path=path)
        if category is None:
            return BadInput("the category does not exist; create it first", field="category")
        if category.move_state:
            return Conflict("the category is being moved; retry when the move has finished", field="category")
        return StaleWrite()

    async def move_products(self, source: KeyPath, target: KeyPath, guard: Write[Any]) -> None:
        """Moves all products of one category to another. Every transaction contains the condition check `guard`.

        Repeats until the product count is 0, because the index that lists the products is eventually consistent."""
        for attempt in range(MAX_ROUNDS):
            category = await self.table.find(category_ref_by_path, path=source)
            if category is None or category.product_count == 0:
                return
            ids = [product.id async for product in self.table.iterate_shards(products_in_category, category=source)]
            batches = [ids[start : start + MOVE_BATCH] for start in range(0, len(ids), MOVE_BATCH)]
            has_moved = [await self._move_batch(batch, source, target, guard) for batch in batches]
            await asyncio.sleep(0 if any(has_moved) else 0.02 * attempt)
        raise Throttled(
            "the products of the category are still being moved; repeat the request to continue", retryAfterMs=1000
        )

    async def _move_batch(self, ids: Sequence[str], source: KeyPath, target: KeyPath, guard: Write[Any]) -> bool:
        """Moves the products that are still in the category `source`. Returns whether any product was moved.

        Reads the products from the table, because the index may be stale."""
        found = await self.table.find_many(product_by_id, [{"id": id} for id in ids])
        products_in_source = [product for product in found if product and product.category == source]
        if not products_in_source:
            return False
        writes = [write for product in products_in_source for write in _category_change(product, target)]
        counts = (_add_to_count(source, -len(products_in_source)), _add_to_count(target, len(products_in_source)))
        with suppress(StaleWrite):
            await self.table.write(guard, *writes, *counts)
            return True
        return False


def _add_to_count(path: KeyPath, number: int) -> Write[Any]:
    return update_attributes(category_refs, {"path": path}, UpdateExpression(adds={("productCount",): number}))


def _category_change(before: Product, target: KeyPath) -> tuple[Write[Any], Write[Any]]:
    """Returns the writes that put a product into another category, without a new revision."""
    after = replace(before, category=target, updated_at=timestamps.utc_now(), version=before.version + 1)
    return update_model(products, before, after), update_model(sku_claims, sku_claim(before), sku_claim(after))
