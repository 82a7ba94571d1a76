"""The sharded collections of a table are those that its entities declare."""

import pytest

from keyfence.app.domain_loading import load_domains
from keyfence.errors import BadInput
from keyfence.store.shards import MAX_SHARDS, ONE_SHARD, ShardCounts

ENTITIES = load_domains().entities
COLLECTIONS = ENTITIES.collections


def test_the_collections_of_the_built_in_domains_have_the_names_that_operators_use() -> None:
    assert set(COLLECTIONS.shardings) == {
        "users",
        "groups",
        "group_members",
        "customers",
        "open_orders",
        "orders_by_region",
        "review_queue",
        "recycle_bin",
        "products_in_category",
        "top_products",
        "stores",
        "activity",
        "counters",
    }


def test_collections_with_the_shard_in_the_key_of_the_item_are_known() -> None:
    assert COLLECTIONS.sharded_by_table_key == {"activity", "counters"}


@pytest.mark.parametrize("collection", COLLECTIONS.shardings)
def test_a_collection_has_at_most_as_many_shards_as_it_declares(collection: str) -> None:
    most = 100 if collection == "counters" else MAX_SHARDS
    assert COLLECTIONS.max_shards(collection) == most
    assert [COLLECTIONS.checked_count(collection, count) for count in (1, most)] == [1, most]
    for count in (-1, 0, most + 1):
        with pytest.raises(BadInput, match=f"{collection} can have 1 to {most} shards"):
            COLLECTIONS.checked_count(collection, count)


def test_the_name_of_a_collection_that_does_not_exist_is_bad_input() -> None:
    assert [COLLECTIONS.checked_name(name) for name in COLLECTIONS.shardings] == list(COLLECTIONS.shardings)
    with pytest.raises(BadInput, match="collection must be one of activity, "):
        COLLECTIONS.checked_name("Users")


def test_a_collection_without_stored_counts_has_one_shard() -> None:
    stored = {"users": ShardCounts(read_shards=8), "of_a_domain_that_was_left_out": ShardCounts(read_shards=2)}
    counts = COLLECTIONS.all_counts(stored)
    assert set(counts) == set(COLLECTIONS.shardings)
    assert (counts["users"].read_shards, counts["groups"]) == (8, ONE_SHARD)


def test_an_index_has_the_attributes_that_the_queries_on_it_need() -> None:
    order = {"customerId", "status", "region", "totals", "flaggedAt"}
    person = {"id", "version", "createdAt", "updatedAt", "name", "email", "role"}
    assert {index: set(names) for index, names in ENTITIES.projections.items()} == {
        "gsi1": {*person, *order, "userId", "groupId", "actor", "kind", "target", "detail", "ttl", "tenant"},
        "gsi2": {*person, *order, "description", "memberCount", "tenant"},
        "gsi3": {*(person - {"email", "role"}), *order, "latitude", "longitude", "geohash", "sku", "price", "currency"}
        | {"category", "revision", "total", "deletedAt"},
    }
