"""The shard of a value is calculated, and never changes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfence.store.keys import TenantKey
from keyfence.store.shards import MAX_SHARDS, UNSHARDED, Sharding, candidate_shards, shard_of, shard_suffix
from tests.fakes.fences import tenant_fence
from tests.fakes.shard_maps import even_shards

ACME = tenant_fence("acme")
USERS = TenantKey("USERS", "{id}", sharding=Sharding("users", hashed_field="id"))


def test_the_shards_of_known_ids_never_change() -> None:
    """Items are found by calculating their shard again: another hash would lose every stored item."""
    assert [shard_of(id, 16) for id in ("usr_1", "usr_2", "é", "🙂", "")] == [4, 6, 2, 11, 5]
    assert [shard_of(id, 256) for id in ("usr_1", "usr_2", "usr_3")] == [51, 91, 26]


@given(st.text(), st.integers(1, MAX_SHARDS))
def test_a_shard_is_below_the_count(value: str, count: int) -> None:
    assert 0 <= shard_of(value, count) < count


@given(st.text(), st.integers(1, MAX_SHARDS))
def test_the_candidate_shards_of_a_value_are_those_of_every_count_and_no_others(value: str, count: int) -> None:
    assert candidate_shards(value, count) == tuple(sorted({shard_of(value, one) for one in range(1, count + 1)}))


@pytest.mark.parametrize("count", [2, 3, 16, 256])
def test_every_shard_is_used_and_none_much_more_than_others(count: int) -> None:
    shard_count = [shard_of(f"usr_{number}", count) for number in range(count * 100)]
    assert set(shard_count) == set(range(count))
    assert max(map(shard_count.count, range(count))) < 160


def test_shard_suffixes_have_two_digits_up_to_the_limit() -> None:
    assert [shard_suffix(shard) for shard in (0, 9, 10, 255)] == ["00", "09", "0a", "ff"]
    assert {len(shard_suffix(shard)) for shard in range(MAX_SHARDS)} == {2}


@pytest.mark.parametrize("count", [0, -1, MAX_SHARDS + 1])
def test_shard_counts_out_of_range_are_refused(count: int) -> None:
    with pytest.raises(ValueError, match="<= 256"):
        even_shards({"users": count})


def test_a_collection_that_is_not_listed_has_one_shard() -> None:
    assert list(USERS.partitions(ACME, UNSHARDED, {})) == ["TENANT#acme#USERS#00"]
    assert USERS.render(ACME, UNSHARDED, {"id": "usr_1"}).partition == "TENANT#acme#USERS#00"


def test_every_shard_of_a_collection_is_read_in_order() -> None:
    partitions = list(USERS.partitions(ACME, even_shards({"users": 17, "others": 3}), {}))
    assert len(partitions) == 17
    assert partitions[0] == "TENANT#acme#USERS#00"
    assert partitions[-1] == "TENANT#acme#USERS#10"
    assert partitions == sorted(partitions)
