"""A partition is matched to its collection, whatever values the tenant put into its key."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfence.app.domain_loading import load_domains
from keyfence.hot_partitions.hot_partition_finder import CollectionMatcher
from keyfence.hot_partitions.partition_load import TenantPartition
from keyfence.store.entity import Entity, Index
from keyfence.store.keys import TenantKey
from keyfence.store.shards import MAX_SHARDS
from keyfence_iam.tenant import TenantId
from tests.data.model_strategies import models
from tests.fakes.fences import tenant_fence
from tests.fakes.shard_maps import even_shards
from tests.tier import examples

COLLECTIONS = load_domains().entities.collections.shardings
MATCHER = CollectionMatcher.from_entities(load_domains().entities)
KEYS = [
    (entity, index, key)
    for entity in load_domains().entities
    for index, key in entity.keys.items()
    if isinstance(key, TenantKey)
]
each_key = pytest.mark.parametrize(
    ("entity", "index", "key"), KEYS, ids=[f"{entity.type}-{index}" for entity, index, _ in KEYS]
)
SHARDS = even_shards(dict.fromkeys(COLLECTIONS, MAX_SHARDS))
ACME = TenantId("acme")


@each_key
@examples(30)
@given(data=st.data())
def test_every_key_is_matched_to_its_own_collection_or_to_none(
    data: st.DataObject, entity: Entity[Any], index: Index, key: TenantKey
) -> None:
    pair = entity.key_pair(index, data.draw(models(entity.model)), tenant_fence(ACME), SHARDS)
    if pair is None:
        return
    partition = TenantPartition(ACME, "table" if index == "table" else index.upper(), pair.partition)
    found = MATCHER.find(partition)
    assert (found.collection if found else None) == (key.sharding.collection if key.sharding else None)
    if found:
        assert pair.partition.rpartition("#")[0] == found.partition.key
        assert partition in list(found.possible_shards())


def test_every_sharded_collection_has_a_pattern() -> None:
    declared = {key.sharding.collection for _, _, key in KEYS if key.sharding}
    assert {pattern.collection for pattern in MATCHER.patterns} == declared == set(COLLECTIONS)
    assert len(declared) >= 12


@pytest.mark.parametrize(
    "partition",
    [
        TenantPartition(ACME, "GSI1", "TENANT#acme#tag#OPEN#00"),
        TenantPartition(ACME, "GSI2", "TENANT#acme#OPEN#00"),
        TenantPartition(ACME, "GSI2", "TENANT#acme#tag#OPEN"),
        TenantPartition(ACME, "GSI2", "TENANT#acme#tag#OPEN#0g"),
        TenantPartition(ACME, "GSI2", "CONTROL#OPEN#00"),
        TenantPartition(ACME, "table", "TENANT#acme#GROUP#grp_1"),
    ],
)
def test_similar_keys_match_no_collection(partition: TenantPartition) -> None:
    assert MATCHER.find(partition) is None
