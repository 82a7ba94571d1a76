"""Sales of the tenant that the table at hand belongs to."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from keyfence.domains.sales.access import monthly_sales, sales_of_month, top_products
from keyfence.domains.sales.model import Deltas, MonthlySales, Sold, checked_month
from keyfence.store import clock
from keyfence.store.expressions import absent
from keyfence.store.table import Table
from keyfence.store.write import Write, put, revise


@dataclass(frozen=True, slots=True)
class Sales:
    """What was sold most, and how that is kept."""

    table: Table
    now: Callable[[], datetime] = clock.now

    async def top(self, month: str, *, first: int) -> Sequence[MonthlySales]:
        """The best selling products of a month, best first."""
        return (await self.table.page(top_products, first=first, created_at=checked_month(month))).items

    async def writes(self, added: Deltas) -> list[Write[Any]]:
        """What keeps these sales, for the transaction of the order that they come from.

        Each is bound to what was read here: somebody who sold at the same time makes the transaction Stale."""
        wanted = list(added)
        found = await self.table.find_many(sales_of_month, [{"id": id, "created_at": month} for month, id in wanted])
        return [self._write(one, before, added[one]) for one, before in zip(wanted, found, strict=True)]

    def _write(self, sold: Sold, before: MonthlySales | None, quantity: int) -> Write[Any]:
        now = self.now()
        if before is not None:
            after = replace(before, total=before.total + quantity, updated_at=now, version=before.version + 1)
            return revise(monthly_sales, before, after)
        made = MonthlySales(id=sold.product_id, total=quantity, created_at=sold.month, updated_at=now)
        return put(monthly_sales, made, when=absent())
