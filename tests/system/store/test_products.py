"""Products have a unique SKU, keep every revision, and are listed by price in their category."""

import asyncio
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from keyfence.domains.categories.repository import CategoryRepository
from keyfence.domains.products.access_patterns import (
    category_ref_by_path,
    product_by_id,
    product_by_sku,
    product_revisions,
    products,
)
from keyfence.domains.products.model import MAX_REVISIONS, Product, ProductRevision, sku_claim
from keyfence.domains.products.repository import ProductRepository
from keyfence.domains.sales.monthly_sales import ProductMonth, SalesRepository, start_of_month
from keyfence.errors import BadInput, Conflict, NotFound, Throttled
from keyfence.store import timestamps
from keyfence.store.writes import ActivityNote, update_model
from keyfence_iam.tenant import TenantId
from tests.stack import ServiceStack

PENS, INKS = ("office", "pens"), ("office", "inks")


@pytest.fixture
async def shop(stack: ServiceStack, tenant: TenantId) -> ProductRepository:
    table = stack.table(tenant)
    for path in (PENS[:1], PENS, INKS):
        await CategoryRepository(table).create(path)
    return ProductRepository(table, "clerk")


async def create_product(shop: ProductRepository, sku: str = "A-1", **fields: Any) -> Product:
    expected: dict[str, Any] = {"name": "Pen", "price": Decimal("1.10"), "currency": "EUR", "category": PENS}
    return await shop.create(sku=sku, **{**expected, **fields})


async def count(shop: ProductRepository, path: tuple[str, ...]) -> int:
    category = await shop.table.find(category_ref_by_path, path=path)
    assert category is not None
    return category.product_count


async def test_of_concurrent_products_with_one_sku_exactly_one_is_created(shop: ProductRepository) -> None:
    outcomes = await asyncio.gather(*(create_product(shop) for _ in range(8)), return_exceptions=True)
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["Conflict"] * 7 + ["Product"]
    assert await count(shop, PENS) == 1
    assert len((await shop.in_category(PENS, first=10, after=None)).items) == 1


async def test_a_product_is_equal_by_id_by_sku_in_its_category_and_in_a_batch(shop: ProductRepository) -> None:
    pen = await create_product(shop, "a#1 %", price=Decimal("9999999.99"))
    assert await shop.get(pen.id) == pen
    found = await shop.find_by_sku("a#1 %")
    assert found == sku_claim(pen)
    assert (await shop.in_category(PENS, first=10, after=None)).items == (pen,)
    assert await shop.find_many([pen.id, pen.id]) == [pen, pen]
    assert await shop.find_by_sku("A#1 %") is None


async def test_products_of_a_category_are_sorted_by_price_between_inclusive_bounds(shop: ProductRepository) -> None:
    for number, price in enumerate(["10", "9.99", "0", "100", "10.01", "9.9"]):
        await create_product(shop, f"P{number}", price=Decimal(price))
    await create_product(shop, "elsewhere", price=Decimal(10), category=INKS)
    await create_product(shop, "above", price=Decimal(10), category=PENS[:1])

    async def prices(low: str | None = None, high: str | None = None) -> list[str]:
        page = await shop.in_category(
            PENS,
            min_price=Decimal(low) if low else None,
            max_price=Decimal(high) if high else None,
            first=10,
            after=None,
        )
        return [format(product.price.normalize(), "f") for product in page.items]

    assert await prices() == ["0", "9.9", "9.99", "10", "10.01", "100"]
    assert await prices("9.9", "10") == ["9.9", "9.99", "10"]
    assert await prices(low="10.01") == ["10.01", "100"]
    assert await prices(high="9.91") == ["0", "9.9"]
    assert await prices("10", "9") == []
    with pytest.raises(BadInput) as raised:
        await prices(high="-1")
    assert raised.value.extensions == {"field": "maxPrice"}


async def test_a_price_range_is_one_query(shop: ProductRepository, stack: ServiceStack) -> None:
    await create_product(shop)
    stack.take_calls()
    await shop.in_category(PENS, min_price=Decimal(1), max_price=Decimal(2), first=10, after=None)
    await shop.find_by_sku("A-1")
    assert [call.operation for call in stack.take_calls()] == ["Query", "GetItem"]


@pytest.mark.parametrize("size", [1, 7, 100])
async def test_a_category_pages_to_the_end_while_products_are_added(shop: ProductRepository, size: int) -> None:
    before = [await create_product(shop, f"P{number}", price=Decimal(number // 2)) for number in range(12)]
    found: list[str] = []
    after, added = None, 0
    while True:
        page = await shop.in_category(PENS, first=size, after=after)
        found += [product.id for product in page.items]
        if not page.has_next:
            break
        after = page.edges[-1].cursor()
        if added < 6:
            await create_product(shop, f"new{added}", price=Decimal(added))
            added += 1
    assert len(found) == len(set(found))
    ids_before = {product.id for product in before}
    assert [id for id in found if id in ids_before] == [
        product.id for product in sorted(before, key=lambda one: (one.price, one.id))
    ]


async def test_every_revision_is_kept_newest_first_and_nothing_else_is_among_them(shop: ProductRepository) -> None:
    pen = await create_product(shop)
    for number in range(2, 13):
        await ProductRepository(shop.table, f"by{number}").revise(pen.id, name=f"Pen {number}", price=Decimal(number))
    sales = {ProductMonth(start_of_month(timestamps.utc_now()), str(pen.id)): 3}
    await shop.table.write(*await SalesRepository(shop.table).writes(sales), note=ActivityNote("x"))
    found: list[ProductRevision] = []
    after = None
    while True:
        page = await shop.revisions(pen.id, first=5, after=after)
        found += page.items
        if not page.has_next:
            break
        after = page.edges[-1].cursor()
    assert [one.revision for one in found] == list(range(12, 0, -1))
    assert [(one.name, one.price, one.actor) for one in found[:2]] == [
        ("Pen 12", Decimal(12), "by12"),
        ("Pen 11", Decimal(11), "by11"),
    ]
    assert (found[-1].name, found[-1].actor) == ("Pen", "clerk")
    latest = await shop.get(pen.id)
    assert (latest.revision, latest.version, latest.created_at) == (12, 12, pen.created_at)
    assert await shop.find_by_sku(pen.sku) == sku_claim(latest)


async def test_a_revision_that_changes_nothing_writes_nothing(shop: ProductRepository, stack: ServiceStack) -> None:
    pen = await create_product(shop)
    stack.take_calls()
    assert await shop.revise(pen.id, name="Pen", price=Decimal("1.1"), category=PENS) == pen
    assert [call.operation for call in stack.take_calls()] == ["GetItem"]


async def test_of_concurrent_revisions_with_one_expected_version_exactly_one_wins(shop: ProductRepository) -> None:
    pen = await create_product(shop)
    revisions = (shop.revise(pen.id, expected_version=1, name=f"N{number}") for number in range(6))
    outcomes = await asyncio.gather(*revisions, return_exceptions=True)
    assert sum(isinstance(outcome, Product) for outcome in outcomes) == 1
    assert sum(isinstance(outcome, Conflict) for outcome in outcomes) == 5
    assert len((await shop.revisions(pen.id, first=10, after=None)).items) == 2


async def test_revisions_without_an_expected_version_all_succeed(shop: ProductRepository) -> None:
    pen = await create_product(shop)
    await asyncio.gather(*(shop.revise(pen.id, name=f"N{number}") for number in range(3)))
    assert (await shop.get(pen.id)).revision == 4


async def test_a_product_that_changes_its_category_is_counted_in_the_new_category_only(shop: ProductRepository) -> None:
    pen = await create_product(shop)
    moved = await shop.revise(pen.id, category=INKS)
    assert (await count(shop, PENS), await count(shop, INKS)) == (0, 1)
    assert (await shop.in_category(PENS, first=10, after=None)).items == ()
    assert (await shop.in_category(INKS, first=10, after=None)).items == (moved,)


@pytest.mark.parametrize("category", [("office", "none"), ("offic",), ("office", "pens", "red")])
async def test_a_product_needs_an_existing_category(shop: ProductRepository, category: tuple[str, ...]) -> None:
    pen = await create_product(shop)
    with pytest.raises(BadInput) as raised:
        await create_product(shop, "B-1", category=category)
    assert raised.value.extensions == {"field": "category"}
    with pytest.raises(BadInput, match="the category does not exist"):
        await shop.revise(pen.id, category=category)
    assert await shop.table.find(product_by_sku, sku="B-1") is None
    assert await shop.get(pen.id) == pen


async def test_a_product_cannot_have_more_than_the_maximum_of_revisions(shop: ProductRepository) -> None:
    pen = await create_product(shop)
    await shop.table.write(update_model(products, pen, replace(pen, revision=MAX_REVISIONS)))
    with pytest.raises(Conflict, match="at most"):
        await shop.revise(pen.id, name="One more")


async def test_an_existing_revision_is_never_overwritten(shop: ProductRepository) -> None:
    pen = await create_product(shop)
    await shop.table.write(update_model(products, pen, replace(pen, revision=0)))
    with pytest.raises(Throttled):
        await shop.revise(pen.id, expected_version=1, name="Rewritten")
    first = await shop.table.find(product_revisions.get(), product_id=pen.id, revision=1)
    assert first is not None
    assert first.name == "Pen"


async def test_a_missing_product_is_not_found(shop: ProductRepository) -> None:
    missing_id: Any = "prd_" + "0" * 26
    assert await shop.table.find(product_by_id, id=missing_id) is None
    with pytest.raises(NotFound):
        await shop.revise(missing_id, name="X")


async def test_products_of_another_tenant_are_not_found(stack: ServiceStack, shop: ProductRepository) -> None:
    pen = await create_product(shop)
    other = ProductRepository(stack.table(await stack.new_tenant()), "stranger")
    assert await other.find(pen.id) is None
    assert await other.find_by_sku(pen.sku) is None
    assert (await other.in_category(PENS, first=10, after=None)).items == ()
    assert (await other.revisions(pen.id, first=10, after=None)).items == ()
    with pytest.raises(BadInput):
        await create_product(other)
