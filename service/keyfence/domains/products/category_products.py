"""The categories that products stand in: counted, and left alone while they are being moved."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

from keyfence.domains.products.access_patterns import (
    product_by_id,
    products,
    products_in_category,
    shelf_by_path,
    shelves,
    sku_claims,
)
from keyfence.domains.products.model import Product, claim_of
from keyfence.errors import BadInput, Conflict, KeyfenceError, Throttled
from keyfence.store import timestamps
from keyfence.store.expressions import UpdateExpression, absent
from keyfence.store.key_template import KeyPath
from keyfence.store.table import MAX_SPLIT_TRANSACTION_WRITES, Table
from keyfence.store.writes import StaleWrite, Write, update_attributes, update_model

CHUNK = (MAX_SPLIT_TRANSACTION_WRITES - 3) // 2
ROUNDS = 50


class _Closed(Conflict):
    """The category takes no product: it is not there, or it is being moved."""

    def __init__(self) -> None:
        super().__init__("the category takes no product just now")


@dataclass(frozen=True, slots=True)
class CategoryProducts:
    """Which products are in which category."""

    table: Table

    @staticmethod
    def moved(before: KeyPath | None, after: KeyPath) -> Iterator[Write[Any]]:
        """One product less there and one more here; what is being moved may be left and not entered."""
        if before == after:
            return
        if before is not None:
            yield _counted(before, -1)
        more = UpdateExpression(adds={("productCount",): 1})
        yield update_attributes(shelves, {"path": after}, more, when=absent("moving"), on_failure=_Closed)

    @asynccontextmanager
    async def explaining_refusal(self, path: KeyPath) -> AsyncIterator[None]:
        """Around a write that puts a product into this category: why it could not."""
        try:
            yield
        except _Closed:
            raise await self._reason(path) from None

    async def _reason(self, path: KeyPath) -> KeyfenceError:
        shelf = await self.table.find(shelf_by_path, path=path)
        if shelf is None:
            return BadInput("there is no such category; create it first", field="category")
        if shelf.moving:
            return Conflict("the category is being moved; retry when it has arrived", field="category")
        return StaleWrite()

    async def carry(self, source: KeyPath, target: KeyPath, guard: Write[Any]) -> None:
        """Every product of one category into another, each transaction only while the guard holds.

        The index may lag and the count may not, so the count says when it is done."""
        for pause in range(ROUNDS):
            shelf = await self.table.find(shelf_by_path, path=source)
            if shelf is None or shelf.product_count == 0:
                return
            ids = [product.id async for product in self.table.iterate_shards(products_in_category, category=source)]
            chunks = [ids[start : start + CHUNK] for start in range(0, len(ids), CHUNK)]
            carried = [await self._carry(chunk, source, target, guard) for chunk in chunks]
            await asyncio.sleep(0 if any(carried) else 0.02 * pause)
        raise Throttled("the category's products are still being moved; move it again to go on", retryAfterMs=1000)

    async def _carry(self, ids: Sequence[str], source: KeyPath, target: KeyPath, guard: Write[Any]) -> bool:
        """As the table has them, since the index may show what they were; False when nothing came of it."""
        found = await self.table.find_many(product_by_id, [{"id": id} for id in ids])
        there = [product for product in found if product and product.category == source]
        if not there:
            return False
        writes = [write for product in there for write in _carried(product, target)]
        counts = (_counted(source, -len(there)), _counted(target, len(there)))
        with suppress(StaleWrite):
            await self.table.write(guard, *writes, *counts)
            return True
        return False


def _counted(path: KeyPath, by: int) -> Write[Any]:
    return update_attributes(shelves, {"path": path}, UpdateExpression(adds={("productCount",): by}))


def _carried(before: Product, target: KeyPath) -> tuple[Write[Any], Write[Any]]:
    """Where a product stands is not a revision of it."""
    after = replace(before, category=target, updated_at=timestamps.utc_now(), version=before.version + 1)
    return update_model(products, before, after), update_model(sku_claims, claim_of(before), claim_of(after))
