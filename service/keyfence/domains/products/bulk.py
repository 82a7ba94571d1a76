"""Products in lines, each with everything that it ever was."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from keyfence.bulk.fields import Fields, actor, amount, names, text, timestamp, whole
from keyfence.bulk.pages import every
from keyfence.bulk.record_kind import IMPORTER, Line, RecordKind, RecordWriter, put_new, record_line, without_nulls
from keyfence.domains.products.access_patterns import product_revisions, products, revisions_of_product, sku_claims
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
from keyfence.domains.products.repository import TAKEN, ProductRepository, created_note, product_id
from keyfence.store.codec import amount_text
from keyfence.store.expressions import absent
from keyfence.store.key_template import checked_path
from keyfence.store.keys import ValueRange
from keyfence.store.table import Table
from keyfence.store.timestamps import timestamp_text
from keyfence.store.writes import put


@dataclass(frozen=True, slots=True)
class ProductRecord:
    """A product and all its revisions, oldest first."""

    product: Product
    revisions: tuple[ProductRevision, ...]


def read(given: Fields) -> ProductRecord:
    given.allow_only(
        "type", "id", "sku", "name", "price", "currency", "category", "createdAt", "updatedAt", "version", "revisions"
    )  # fmt: skip
    created, parts = given.take("createdAt", timestamp), given.parts("revisions")
    product = Product(
        id=given.take("id", lambda value: product_id(text(value))),
        sku=given.take("sku", lambda value: checked_sku(text(value))),
        name=given.take("name", lambda value: checked_name(text(value))),
        price=given.take("price", lambda value: checked_price(amount(value))),
        currency=given.take("currency", lambda value: checked_currency(text(value))),
        category=given.take("category", lambda value: checked_path(names(value), "category")),
        created_at=created,
        updated_at=given.maybe("updatedAt", timestamp, created),
        revision=max(1, len(parts)),
        version=given.maybe("version", whole, max(1, len(parts))),
    )
    revisions = [_revision(one, product.id, number) for number, one in enumerate(parts, start=1)]
    return _agreeing(given, ProductRecord(product, tuple(revisions) or (revision_of(product, IMPORTER),)))


def _revision(given: Fields, id: ProductId, number: int) -> ProductRevision:
    given.allow_only("name", "price", "by", "at")
    at = given.take("at", timestamp)
    return ProductRevision(
        product_id=id,
        revision=number,
        name=given.take("name", lambda value: checked_name(text(value))),
        price=given.take("price", lambda value: checked_price(amount(value))),
        by=given.take("by", actor),
        created_at=at,
        updated_at=at,
    )


def _agreeing(given: Fields, whole: ProductRecord) -> ProductRecord:
    product, last = whole.product, whole.revisions[-1]
    if (product.name, product.price) != (last.name, last.price):
        raise given.bad("revisions", "must end with the product's own name and price")
    if not product.revision <= min(product.version, REVISIONS):
        raise given.bad("revisions", f"must not be more than {REVISIONS}, nor more than the product's version")
    return whole


def spell(whole: ProductRecord) -> Line:
    product = whole.product
    return record_line(
        "product",
        id=product.id,
        sku=product.sku,
        name=product.name,
        price=amount_text(product.price),
        currency=product.currency,
        category=list(product.category),
        createdAt=timestamp_text(product.created_at),
        updatedAt=timestamp_text(product.updated_at),
        version=product.version,
        revisions=[
            without_nulls(name=one.name, price=amount_text(one.price), by=one.by, at=timestamp_text(one.created_at))
            for one in whole.revisions
        ],
    )


async def find(table: Table, wanted: Sequence[ProductRecord]) -> list[ProductRecord | None]:
    return await load(table, [one.product.id for one in wanted])


async def load(table: Table, ids: Sequence[ProductId]) -> list[ProductRecord | None]:
    found = await ProductRepository(table, IMPORTER).find_many(ids)
    return list(await asyncio.gather(*(_whole(table, product) for product in found)))


async def _whole(table: Table, product: Product | None) -> ProductRecord | None:
    """As it was when it was found, also if it has been revised since."""
    if product is None:
        return None
    span = ValueRange(low=1, high=product.revision)
    newest_first = [one async for one in every(table, revisions_of_product, span=span, product_id=product.id)]
    return ProductRecord(product, tuple(newest_first[::-1]))


async def write(writer: RecordWriter, whole: ProductRecord) -> None:
    product = whole.product
    head = [
        put_new(products, product),
        put(sku_claims, claim_of(product), when=absent(), on_failure=TAKEN),
        *CategoryProducts.moved(None, product.category),
    ]
    revisions = await writer.ahead([put_new(product_revisions, one) for one in whole.revisions], len(head))
    async with CategoryProducts(writer.table).explaining_refusal(product.category):
        await writer.write(*head, *revisions, note=created_note("imported", product))


RECORDS = RecordKind(
    name="product",
    read=read,
    spell=spell,
    find=find,
    write=write,
    touches=lambda whole: [whole.product.id, whole.product.sku, whole.product.category],
)
