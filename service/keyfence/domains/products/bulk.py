"""Import and export of products, each with all its revisions."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from functools import partial

from keyfence.bulk.json_lines import Line, new_line
from keyfence.bulk.record_fields import (
    Fields,
    parse_actor,
    parse_amount,
    parse_positive_integer,
    parse_text,
    parse_texts,
    parse_timestamp,
)
from keyfence.bulk.record_kind import IMPORTER, RecordKind, RecordWriter, load_in_batches, put_new
from keyfence.domains.categories.access_patterns import category_tree
from keyfence.domains.products.access_patterns import (
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
from keyfence.domains.products.repository import SKU_TAKEN, ProductRepository, checked_product_id, created_note
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


def from_fields(fields: Fields) -> ProductRecord:
    fields.allow_only(
        "type", "id", "sku", "name", "price", "currency", "category", "createdAt", "updatedAt", "version", "revisions"
    )  # fmt: skip
    created_at, revision_fields = fields.required("createdAt", parse_timestamp), fields.objects("revisions")
    revision_count = max(1, len(revision_fields))
    product = Product(
        id=fields.required("id", lambda value: checked_product_id(parse_text(value))),
        sku=fields.required("sku", lambda value: checked_sku(parse_text(value))),
        name=fields.required("name", lambda value: checked_name(parse_text(value))),
        price=fields.required("price", lambda value: checked_price(parse_amount(value))),
        currency=fields.required("currency", lambda value: checked_currency(parse_text(value))),
        category=fields.required("category", lambda value: checked_path(parse_texts(value), "category")),
        created_at=created_at,
        updated_at=fields.optional("updatedAt", parse_timestamp, created_at),
        revision=revision_count,
        version=fields.optional("version", parse_positive_integer, revision_count),
    )
    revisions = tuple(
        _revision(revision, product.id, number) for number, revision in enumerate(revision_fields, start=1)
    )
    record = ProductRecord(product, revisions or (revision_of(product, IMPORTER),))
    _check_revisions(fields, record)
    return record


def _revision(fields: Fields, id: ProductId, number: int) -> ProductRevision:
    fields.allow_only("name", "price", "by", "at")
    created_at = fields.required("at", parse_timestamp)
    return ProductRevision(
        product_id=id,
        revision=number,
        name=fields.required("name", lambda value: checked_name(parse_text(value))),
        price=fields.required("price", lambda value: checked_price(parse_amount(value))),
        actor=fields.required("by", parse_actor),
        created_at=created_at,
        updated_at=created_at,
    )


def _check_revisions(fields: Fields, record: ProductRecord) -> None:
    product, last = record.product, record.revisions[-1]
    if (product.name, product.price) != (last.name, last.price):
        raise fields.error("revisions", "must end with a revision that has the name and the price of the product")
    if product.revision > min(product.version, MAX_REVISIONS):
        raise fields.error("revisions", f"must not be more than {MAX_REVISIONS}, nor more than the product's version")


def to_line(record: ProductRecord) -> Line:
    product = record.product
    return new_line(
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
            {
                "name": revision.name,
                "price": amount_text(revision.price),
                "by": revision.actor,
                "at": timestamp_text(revision.created_at),
            }
            for revision in record.revisions
        ],
    )


async def load(table: Table, ids: Sequence[ProductId]) -> list[ProductRecord | None]:
    products_or_none = await ProductRepository(table, IMPORTER).find_many(ids)
    return list(await asyncio.gather(*(_with_revisions(table, product) for product in products_or_none)))


async def _with_revisions(table: Table, product: Product | None) -> ProductRecord | None:
    """Returns the product with its revisions. Leaves out revisions that were made after the product was read."""
    if product is None:
        return None
    known_revisions = ValueRange(low=1, high=product.revision)
    revisions = table.iterate(revisions_of_product, between=known_revisions, product_id=product.id)
    newest_first = [revision async for revision in revisions]
    return ProductRecord(product, tuple(newest_first[::-1]))


def load_all(table: Table) -> AsyncIterator[ProductRecord]:
    return load_in_batches(_product_ids(table), partial(load, table))


async def _product_ids(table: Table) -> AsyncIterator[ProductId]:
    async for category in table.iterate(category_tree):
        async for product in table.iterate(products_in_category, category=category.path):
            yield product.id


async def write(writer: RecordWriter, record: ProductRecord) -> None:
    product = record.product
    writes = [
        put_new(products, product),
        put(sku_claims, sku_claim(product), when=absent(), on_failure=SKU_TAKEN),
        *CategoryProducts.count_writes(None, product.category),
    ]
    revision_writes = [put_new(product_revisions, revision) for revision in record.revisions]
    fitting_writes = await writer.write_overflow(revision_writes, len(writes))
    async with CategoryProducts(writer.table).explain_failure(product.category):
        await writer.write(*writes, *fitting_writes, note=created_note("imported", product))


RECORD_KIND = RecordKind(
    name="product",
    plural="products",
    from_fields=from_fields,
    to_line=to_line,
    key=lambda record: record.product.id,
    load=load,
    load_all=load_all,
    write=write,
    lock_keys=lambda record: [record.product.id, record.product.sku, record.product.category],
    references=lambda record: [("category", record.product.category)],
    depends_on=("category",),
)
