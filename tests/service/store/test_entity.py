"""An entity whose keys do not fit its dataclass is refused. Any other entity derives all keys from its model."""

from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given

from keyfence.store.codec import attribute_name
from keyfence.store.entity import BadEntity, Entity, Query, entity
from keyfence.store.keys import ControlKey, TenantKey
from keyfence.store.shards import UNSHARDED, Sharding
from tests.data.bookshop import OPENING, Book, book, books, chapter, chapters
from tests.data.model_strategies import models
from tests.fakes.fences import tenant_fence

ACME = tenant_fence("acme")
TABLE = TenantKey("BOOK#{id}", "METADATA")


@dataclass(frozen=True)
class Unversioned:
    id: str
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True)
class Timeless:
    id: str
    version: int


def declare(model: Any, **keys: Any) -> Entity[Any]:
    return entity(model, **keys)


def test_a_plain_text_is_not_a_key() -> None:
    with pytest.raises(BadEntity, match="TenantKey"):
        declare(Book, table="TENANT#acme#BOOK#{id}")
    with pytest.raises(BadEntity, match="TenantKey"):
        declare(Book, table=TABLE, gsi1="BOOKS")


def test_an_entity_is_a_tenants_or_the_control_planes_and_never_both() -> None:
    with pytest.raises(BadEntity, match="every key"):
        declare(Book, table=TABLE, gsi1=ControlKey("BOOKS", "{id}"))


@pytest.mark.parametrize(
    "key",
    [
        TenantKey("ISBN#{isbn}", "METADATA"),
        TenantKey("BOOKS", "{isbn}"),
        TenantKey("BOOKS", "{id}", sharding=Sharding("books", hashed_field="isbn")),
    ],
    ids=["partition", "sort", "shard"],
)
def test_a_key_of_fields_that_the_dataclass_lacks_is_refused(key: TenantKey) -> None:
    with pytest.raises(BadEntity, match="isbn"):
        declare(Book, table=TABLE, gsi2=key)


@pytest.mark.parametrize(("model", "missing"), [(Unversioned, "version"), (Timeless, "created_at, updated_at")])
def test_the_fields_that_every_item_has_are_required(model: Any, missing: str) -> None:
    with pytest.raises(BadEntity, match=missing):
        declare(model, table=TABLE)


def test_a_query_of_an_index_that_the_entity_is_not_in_is_refused() -> None:
    with pytest.raises(BadEntity, match="gsi1"):
        chapters.query("gsi1")


@pytest.mark.parametrize("beginning", ["PAGE#", "CHAPTER#x", "CHAPTER#001#", "BOOK#CHAPTER#"])
def test_a_query_with_a_prefix_that_no_item_has_is_refused(beginning: str) -> None:
    with pytest.raises(BadEntity, match="begins with"):
        chapters.query("table", begins_with=beginning)


@pytest.mark.parametrize("beginning", ["CHAPTER", "#", "CHAPTER##", "#CHAPTER#"])
def test_a_query_with_a_prefix_that_does_not_end_with_a_hash_is_refused(beginning: str) -> None:
    """The prefix CHAPTER would also match CHAPTERNOTES."""
    with pytest.raises(BadEntity):
        chapters.query("table", begins_with=beginning)


@given(models(Book))
def test_an_item_is_stored_under_keys_derived_from_it_and_read_back(one: Book) -> None:
    item = books.to_item(one, ACME, UNSHARDED)
    assert books.from_item(item) == one
    assert item["type"] == {"S": "Book"}
    attributes = {attribute_name(field.name) for field in fields(Book)} | {"type"}
    assert item.keys() - attributes == books.key_attributes(one, ACME, UNSHARDED).keys()


def test_an_item_is_only_in_the_indexes_whose_keys_it_has() -> None:
    plain = books.key_attributes(book("b1"), ACME, UNSHARDED)
    assert set(plain) == {"PK", "SK", "GSI1PK", "GSI1SK", "GSI2PK", "GSI2SK"}
    noted_and_sold = books.key_attributes(book("b1", note="rare", sold_at=OPENING), ACME, UNSHARDED)
    assert set(noted_and_sold) == {"PK", "SK", "GSI1PK", "GSI1SK", "GSI3PK", "GSI3SK"}


def test_two_patterns_never_share_an_identity() -> None:
    patterns: list[Query[Any]] = [
        chapters.query("table"),
        chapters.query("table", begins_with="CHAPTER#"),
        chapters.query("table", newest_first=True),
        books.query("table"),
        books.query("gsi1"),
        books.query("gsi2"),
    ]
    assert len({pattern.identity for pattern in patterns}) == len(patterns)


def test_changing_a_model_does_not_change_its_table_key() -> None:
    before = book("b1")
    addresses = [books.key_pair("table", one, ACME, UNSHARDED) for one in (before, replace(before, title="Other"))]
    assert addresses[0] == addresses[1]
    assert chapters.key_pair("table", chapter(7), ACME, UNSHARDED) == ("TENANT#acme#BOOK#b1", "CHAPTER#007")
