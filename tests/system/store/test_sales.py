"""Sales are exact under concurrent orders, and best sellers are found over all shards."""

import asyncio
import random
from collections import Counter
from datetime import UTC, datetime

import pytest

from keyfence.domains.sales.monthly_sales import MonthlySales, ProductMonth, SalesRepository
from keyfence.errors import BadInput
from keyfence.store.writes import ActivityNote, retry_if_stale
from keyfence_iam.tenant import TenantId
from tests.fakes.shard_maps import even_shards
from tests.stack import ServiceStack

NOVEMBER, DECEMBER = datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 12, 1, tzinfo=UTC)


async def sell(sales: SalesRepository, deltas: dict[ProductMonth, int]) -> None:
    async def attempt() -> None:
        await sales.table.write(*await sales.writes(deltas), note=ActivityNote("order.transitioned"))

    await retry_if_stale(attempt)


def ids_and_totals(found: tuple[MonthlySales, ...]) -> list[tuple[str, int]]:
    return [(one.id, one.total) for one in found]


@pytest.fixture
def sales(stack: ServiceStack, tenant: TenantId) -> SalesRepository:
    return SalesRepository(stack.table(tenant))


async def test_best_sellers_come_first_and_a_product_without_sales_is_not_listed(sales: SalesRepository) -> None:
    await sell(
        sales, {ProductMonth(NOVEMBER, "pen"): 9, ProductMonth(NOVEMBER, "ink"): 10, ProductMonth(DECEMBER, "pen"): 1}
    )
    await sell(sales, {ProductMonth(NOVEMBER, "pad"): 3, ProductMonth(NOVEMBER, "pen"): 2})
    assert ids_and_totals(tuple(await sales.top("2026-11", first=10))) == [("pen", 11), ("ink", 10), ("pad", 3)]
    assert ids_and_totals(tuple(await sales.top("2026-11", first=2))) == [("pen", 11), ("ink", 10)]
    await sell(sales, {ProductMonth(NOVEMBER, "pen"): -2, ProductMonth(NOVEMBER, "pad"): -3})
    assert ids_and_totals(tuple(await sales.top("2026-11", first=10))) == [("ink", 10), ("pen", 9)]
    assert ids_and_totals(tuple(await sales.top("2026-12", first=10))) == [("pen", 1)]
    assert await sales.top("2025-11", first=10) == ()


async def test_concurrent_sales_of_the_same_products_are_all_counted(sales: SalesRepository) -> None:
    rng = random.Random(7)
    orders = [
        {ProductMonth(NOVEMBER, product): rng.randint(1, 9) for product in rng.sample("abcdef", 3)} for _ in range(10)
    ]
    await asyncio.gather(*(sell(sales, order) for order in orders))
    expected: Counter[str] = Counter()
    for order in orders:
        expected.update({sold.product_id: number for sold, number in order.items()})
    found = ids_and_totals(tuple(await sales.top("2026-11", first=10)))
    assert dict(found) == dict(expected)
    assert [number for _, number in found] == sorted(expected.values(), reverse=True)


async def test_best_sellers_are_found_over_all_shards(stack: ServiceStack, tenant: TenantId) -> None:
    sharded_sales = SalesRepository(stack.table(tenant, shards=even_shards({"top_products": 4})))
    numbers = {f"p{number:02}": number * 7 % 31 + 1 for number in range(30)}
    await sell(sharded_sales, {ProductMonth(NOVEMBER, product): number for product, number in numbers.items()})
    stack.take_calls()
    found = ids_and_totals(tuple(await sharded_sales.top("2026-11", first=7)))
    assert [call.operation for call in stack.take_calls()] == ["Query"] * (4 + 1), (
        "one shard has more best sellers than expected and is read twice"
    )
    assert found == sorted(numbers.items(), key=lambda one: (one[1], one[0]), reverse=True)[:7]


async def test_an_invalid_month_is_refused(sales: SalesRepository) -> None:
    with pytest.raises(BadInput) as raised:
        await sales.top("November", first=10)
    assert raised.value.extensions == {"field": "month"}
