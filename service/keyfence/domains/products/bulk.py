"""Products in lines, each with everything that it ever was."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from keyfence.bulk.fields import Given, amount, moment, names, somebody, text, whole
from keyfence.bulk.pages import every
from keyfence.bulk.record_kind import IMPORTER, Kind, Line, Writer, line, new, part
from keyfence.domains.products.access import product_revisions, products, revisions_of_product, sku_claims
from keyfence.domains.products.category_products import Shelves
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
from keyfence.domains.products.repository import TAKEN, Products, arrival, product_id
from keyfence.store.codec import money
from keyfence.store.expressions import absent
from keyfence.store.key_template import checked_path
from keyfence.store.keys import Span
from keyfence.store.table import Table
from keyfence.store.timestamps import instant
from keyfence.store.writes import put


@dataclass(frozen=True, slots=True)
class WholeProduct:
    """A product and all its revisions, oldest first."""

    product: Product
    revisions: tuple[ProductRevision, ...]


def read(given: Given) -> WholeProduct:
    given.only(
        "type", "id", "sku", "name", "price", "currency", "category", "createdAt", "updatedAt", "version", "revisions"
    )  # fmt: skip
    created, parts = given.take("createdAt", moment), given.parts("revisions")
    product = Product(
        id=given.take("id", lambda value: product_id(text(value))),
        sku=given.take("sku", lambda value: checked_sku(text(value))),
        name=given.take("name", lambda value: checked_name(text(value))),
        price=given.take("price", lambda value: checked_price(amount(value))),
        currency=given.take("currency", lambda value: checked_currency(text(value))),
        category=given.take("category", lambda value: checked_path(names(value), "category")),
        created_at=created,
        updated_at=given.maybe("updatedAt", moment, created),
        revision=max(1, len(parts)),
        version=given.maybe("version", whole, max(1, len(parts))),
    )
    revisions = [_revision(one, product.id, number) for number, one in enumerate(parts, start=1)]
    return _agreeing(given, WholeProduct(product, tuple(revisions) or (revision_of(product, IMPORTER),)))


def _revision(given: Given, id: ProductId, number: int) -> ProductRevision:
    given.only("name", "price", "by", "at")
    at = given.take("at", moment)
    return ProductRevision(
        product_id=id,
        revision=number,
        name=given.take("name", lambda value: checked_name(text(value))),
        price=given.take("price", lambda value: checked_price(amount(value))),
        by=given.take("by", somebody),
        created_at=at,
        updated_at=at,
    )


def _agreeing(given: Given, whole: WholeProduct) -> WholeProduct:
    product, last = whole.product, whole.revisions[-1]
    if (product.name, product.price) != (last.name, last.price):
        raise given.bad("revisions", "must end with the product's own name and price")
    if not product.revision <= min(product.version, REVISIONS):
        raise given.bad("revisions", f"must not be more than {REVISIONS}, nor more than the product's version")
    return whole


def spell(whole: WholeProduct) -> Line:
    product = whole.product
    return line(
        "product",
        id=product.id,
        sku=product.sku,
        name=product.name,
        price=money(product.price),
        currency=product.currency,
        category=list(product.category),
        createdAt=instant(product.created_at),
        updatedAt=instant(product.updated_at),
        version=product.version,
        revisions=[
            part(name=one.name, price=money(one.price), by=one.by, at=instant(one.created_at))
            for one in whole.revisions
        ],
    )


async def find(table: Table, wanted: Sequence[WholeProduct]) -> list[WholeProduct | None]:
    return await load(table, [one.product.id for one in wanted])


async def load(table: Table, ids: Sequence[ProductId]) -> list[WholeProduct | None]:
    found = await Products(table, IMPORTER).find_many(ids)
    return list(await asyncio.gather(*(_whole(table, product) for product in found)))


async def _whole(table: Table, product: Product | None) -> WholeProduct | None:
    """As it was when it was found, also if it has been revised since."""
    if product is None:
        return None
    span = Span(low=1, high=product.revision)
    newest_first = [one async for one in every(table, revisions_of_product, span=span, product_id=product.id)]
    return WholeProduct(product, tuple(newest_first[::-1]))


async def write(writer: Writer, whole: WholeProduct) -> None:
    product = whole.product
    head = [
        new(products, product),
        put(sku_claims, claim_of(product), when=absent(), otherwise=TAKEN),
        *Shelves.moved(None, product.category),
    ]
    revisions = await writer.ahead([new(product_revisions, one) for one in whole.revisions], len(head))
    async with Shelves(writer.table).explaining(product.category):
        await writer.write(*head, *revisions, note=arrival("imported", product))


KIND = Kind(
    name="product",
    read=read,
    spell=spell,
    find=find,
    write=write,
    touches=lambda whole: [whole.product.id, whole.product.sku, whole.product.category],
)
