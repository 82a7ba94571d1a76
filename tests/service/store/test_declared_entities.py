"""Rules for every declared entity. New domains are checked without a change to these tests."""

from dataclasses import MISSING, fields, replace
from datetime import UTC
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfence.app.domain_loading import load_domains
from keyfence.email_address import email_key
from keyfence.store.codec import attribute_name
from keyfence.store.entity import INDEXES, Entity, Index, key_names
from keyfence.store.key_template import KeyField
from keyfence.store.keys import Fence, TenantKey
from tests.data.model_strategies import models
from tests.fakes.fences import tenant_fence
from tests.fakes.shard_maps import even_shards
from tests.tier import examples

ENTITIES = list(load_domains().entities)
INDEXED = [(entity, index) for entity in ENTITIES for index in entity.keys if index != "table"]
READ_INDEXES = {(entity.type, named.index) for named in load_domains().patterns for entity in named.entities}
READ_ENTITIES = [(entity, index) for entity, index in INDEXED if (entity.type, index) in READ_INDEXES]
ALL_INDEXES: tuple[Index, ...] = ("table", *INDEXES)
COLLECTIONS = load_domains().entities.collections.shardings
PROJECTIONS = load_domains().entities.projections
SHARDS = even_shards(dict.fromkeys(COLLECTIONS, 16))

each_entity = pytest.mark.parametrize("entity", ENTITIES, ids=lambda entity: entity.type)
each_indexed_entity = pytest.mark.parametrize(
    ("entity", "index"), INDEXED, ids=lambda part: getattr(part, "type", part)
)
each_read_entity = pytest.mark.parametrize(
    ("entity", "index"), READ_ENTITIES, ids=lambda part: getattr(part, "type", part)
)
TIME_TUPLE_LENGTHS = {"month": 2, "day": 3}
few_examples = examples(40)


def fence_of(entity: Entity[Any], tenant: str = "acme") -> Fence:
    return tenant_fence(tenant) if isinstance(entity.keys["table"], TenantKey) else Fence.for_control_plane()


def absent_when_default(field: Any) -> bool:
    """Returns whether the default of this field means that the value is unknown."""
    default = field.default if field.default_factory is MISSING else field.default_factory()
    return default is None or default == frozenset()


def key_part(segment: str | KeyField, model: Any) -> object:
    """Returns the part of a field's value that a key contains. For a time this may be only the day or the month.
    Different spellings of an email are equal."""
    if isinstance(segment, str):
        return None
    value = getattr(model, segment.name)
    if segment.spec == "email":
        return email_key(value)
    if segment.spec in TIME_TUPLE_LENGTHS:
        return value.astimezone(UTC).timetuple()[: TIME_TUPLE_LENGTHS[segment.spec]]
    return value


@each_entity
@few_examples
@given(data=st.data(), tenant=st.sampled_from(["acme", "acmecorp", "a1", "a10"]))
def test_every_key_of_every_item_begins_with_its_fence(entity: Entity[Any], data: st.DataObject, tenant: str) -> None:
    fence = fence_of(entity, tenant)
    item = entity.to_item(data.draw(models(entity.model)), fence, SHARDS)
    partitions = {item[name]["S"] for name in (key_names(index).partition for index in ALL_INDEXES) if name in item}
    assert item["PK"]["S"] in partitions
    assert all(partition.startswith(fence.prefix) for partition in partitions)


@each_entity
@few_examples
@given(data=st.data())
def test_every_index_key_is_whole_and_in_a_declared_index(entity: Entity[Any], data: st.DataObject) -> None:
    item = entity.to_item(data.draw(models(entity.model)), fence_of(entity), SHARDS)
    for index in ALL_INDEXES:
        names = key_names(index)
        assert (names.partition in item) == (names.sort in item)
        assert index in entity.keys or names.partition not in item


@each_entity
@few_examples
@given(data=st.data())
def test_every_item_is_read_back_as_it_was_stored(entity: Entity[Any], data: st.DataObject) -> None:
    model = data.draw(models(entity.model))
    assert entity.from_item(entity.to_item(model, fence_of(entity), SHARDS)) == model


@each_entity
@few_examples
@given(data=st.data())
def test_two_items_have_the_same_key_only_if_their_key_fields_are_equal(
    entity: Entity[Any], data: st.DataObject
) -> None:
    """Ignores a field that only chooses the shard: two items with different values may have the same key."""
    one, other = data.draw(models(entity.model)), data.draw(models(entity.model))
    key = entity.keys["table"]
    names = {*key.partition.fields, *key.sort.fields}
    are_key_parts_equal = all(
        key_part(segment, one) == key_part(segment, other) for segment in (*key.partition.segments, *key.sort.segments)
    )
    pairs = [entity.key_pair("table", model, fence_of(entity), SHARDS) for model in (one, other)]
    may_differ_by_shard = key.sharding is not None and key.sharding.hashed_field not in names
    assert are_key_parts_equal if pairs[0] == pairs[1] else may_differ_by_shard or not are_key_parts_equal


@each_read_entity
def test_an_index_projects_what_its_entities_are_decoded_from(entity: Entity[Any], index: Index) -> None:
    """A field that is not projected has a default that means "unknown". A default like 0 would look like a value."""
    needed = {attribute_name(field.name) for field in fields(entity.model) if not absent_when_default(field)}
    key_attributes = {attribute_name(name) for key in (entity.keys["table"], entity.keys[index]) for name in key.fields}
    assert needed | key_attributes <= {*PROJECTIONS[index]}


@each_read_entity
@few_examples
@given(data=st.data())
def test_an_item_that_is_read_through_an_index_is_the_same_item(
    entity: Entity[Any], index: Index, data: st.DataObject
) -> None:
    model = data.draw(models(entity.model))
    item = entity.to_item(model, fence_of(entity), SHARDS)
    projected = {"PK", "SK", *key_names(index), *PROJECTIONS[index]}
    read_model = entity.from_item({name: value for name, value in item.items() if name in projected})
    unread_fields = {field.name for field in fields(entity.model) if attribute_name(field.name) not in projected}
    assert replace(model, **{name: getattr(read_model, name) for name in unread_fields}) == read_model


@each_indexed_entity
def test_no_two_items_of_a_sharded_list_have_equal_sort_keys(entity: Entity[Any], index: Index) -> None:
    """Otherwise a page could end between two equal sort keys of two shards, and could not be continued."""
    key = entity.keys[index]
    if key.sharding is not None:
        assert key.sharding.hashed_field in key.sort.fields


def test_no_two_entities_declare_the_same_collection() -> None:
    collections = [key.sharding.collection for entity in ENTITIES for key in entity.keys.values() if key.sharding]
    assert len(collections) == len(set(collections))
