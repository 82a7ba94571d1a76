"""Keeping a demo tenant's trade: every item that mutations would have made, in as few transactions as it takes."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from keyfence.bulk.products import WholeProduct
from keyfence.bulk.whole_order import WholeOrder
from keyfence.domains.activity.access import activities
from keyfence.domains.categories.access import categories
from keyfence.domains.customers.access import customers
from keyfence.domains.orders.access import events, items, orders, rows
from keyfence.domains.orders.model import is_alive, row_of
from keyfence.domains.products.access import product_revisions, products, sku_claims
from keyfence.domains.products.model import claim_of
from keyfence.domains.sales.access import monthly_sales
from keyfence.domains.sales.model import MonthlySales, Sold, deltas
from keyfence.domains.stores.access import stores
from keyfence.local.trade import Trade
from keyfence.store.table import PORTION, Table
from keyfence.store.write import Write, put


async def stock(table: Table, trade: Trade) -> None:
    """Said again, it makes the same items again: what was interrupted is made whole.

    What stands in no list comes first: engines are slower the more there is in their indexes. The journal comes last
    and at once, since what is told of the bin is told anew each time."""
    writes = sorted(_writes(trade), key=lambda write: len(write.entity.keys))
    for start in range(0, len(writes), PORTION):
        await table.write(*writes[start : start + PORTION])
    await table.write(*(put(activities, one) for one in trade.journal()))


def _writes(trade: Trade) -> Iterator[Write[Any]]:
    yield from (put(categories, category) for category in trade.categories())
    yield from (put(customers, customer) for customer in trade.customers())
    yield from (put(stores, store) for store in trade.stores())
    for product in trade.products():
        yield from _product(product)
    made = trade.orders()
    for order in made:
        yield from _order(order)
    yield from (put(monthly_sales, sales) for sales in _sales(made))


def _product(whole: WholeProduct) -> Iterator[Write[Any]]:
    yield put(products, whole.product)
    yield put(sku_claims, claim_of(whole.product))
    yield from (put(product_revisions, revision) for revision in whole.revisions)


def _order(whole: WholeOrder) -> Iterator[Write[Any]]:
    yield put(orders, whole.order)
    if is_alive(whole.order):
        yield put(rows, row_of(whole.order))
    yield from (put(items, item) for item in whole.items)
    yield from (put(events, event) for event in whole.events)


def _sales(made: Sequence[WholeOrder]) -> Iterator[MonthlySales]:
    totals: Counter[Sold] = Counter()
    for whole in made:
        totals.update(deltas(None, whole.order, whole.items))
    for (month, product), total in totals.items():
        yield MonthlySales(id=product, total=total, created_at=month, updated_at=month)
