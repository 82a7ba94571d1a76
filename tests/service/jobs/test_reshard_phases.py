"""During and after every change of shard counts, every server finds every item."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfence.errors import Conflict
from keyfence.jobs.reshard.reshard_phases import (
    ReshardKind,
    counts_of,
    finish_reshard,
    require_reshardable,
    reshard_kind,
    start_reshard,
    with_counts,
)
from keyfence.store.shards import MAX_SHARDS, ONE_SHARD, MoveDirection, ShardCounts, shard_of
from tests.service.tenancy.test_tenant_cache import tenant
from tests.tier import examples

ID = "job_1"
TARGETS = st.lists(st.integers(1, 12), max_size=6)
"""Numbers of shards, one change after the other. The current number means a rebalance."""


@dataclass(slots=True)
class Collection:
    """The items of a collection, and all versions of its shard counts that some server may still use."""

    versions: list[ShardCounts] = field(default_factory=lambda: [ONE_SHARD])
    """The newest is the last."""
    shard_by_item: dict[str, int] = field(default_factory=dict)
    item_count: int = 0

    @property
    def newest(self) -> ShardCounts:
        return self.versions[-1]

    def publish(self, counts: ShardCounts) -> None:
        """Adds a version. Servers that know the version and servers that do not write at the same time."""
        self.versions.append(counts)
        for version in self.versions * 2:
            self.item_count += 1
            self.shard_by_item[f"v{self.item_count}"] = shard_of(f"v{self.item_count}", version.write_shards)
        self.check()

    def settle(self) -> None:
        """Removes the earlier versions: no server uses them any more."""
        del self.versions[:-1]

    def move(self) -> None:
        """Moves items to their shards, one at a time, as the job does."""
        counts = self.newest
        stage_by_shard = {shard: number for number, stage in enumerate(counts.read_stages()) for shard in stage}
        for item, shard in self.shard_by_item.items():
            target = shard_of(item, counts.write_shards)
            if shard != target and (counts.move_direction is MoveDirection.UP or shard >= counts.write_shards):
                assert stage_by_shard[shard] < stage_by_shard[target], "a query would miss the item that was moved"
                self.shard_by_item[item] = target
                self.check([item])

    def check(self, items: Sequence[str] | None = None) -> None:
        for counts in self.versions:
            assert 1 <= counts.write_shards <= counts.read_shards <= MAX_SHARDS
            assert list(counts.former_write_shards) == sorted(set(counts.former_write_shards))
            for item in self.shard_by_item if items is None else items:
                shard = self.shard_by_item[item]
                assert shard < counts.read_shards, "a query would miss the item"
                assert shard in counts.candidates(item), "the item would not be found by its key"

    def reshard(self, shards: int) -> None:
        kind = reshard_kind(self.newest, shards)
        self.publish(start_reshard(self.newest, shards, ID))
        self.settle()
        if kind is not ReshardKind.GROW:
            self.move()
        self.publish(finish_reshard(self.newest, kind, shards))


@examples(60)
@given(TARGETS)
def test_every_item_is_found_with_every_version_of_the_counts_that_may_be_in_use(targets: Sequence[int]) -> None:
    collection = Collection()
    for number, shards in enumerate(targets, start=1):
        collection.reshard(shards)
        last = collection.newest
        assert (last.read_shards, last.write_shards) == (shards, shards)
        assert (last.move_direction, last.job_id) == (None, None)
        assert last.generation <= number + 1


@examples(60)
@given(TARGETS)
def test_former_counts_explain_where_items_are_and_are_empty_after_a_rebalance(targets: Sequence[int]) -> None:
    collection = Collection()
    for shards in targets:
        collection.reshard(shards)
        last = collection.newest
        assert all(count < last.write_shards for count in last.former_write_shards)
        for item, shard in collection.shard_by_item.items():
            assert shard in {shard_of(item, count) for count in (*last.former_write_shards, last.write_shards)}
    collection.reshard(collection.newest.write_shards)
    assert collection.newest.former_write_shards == ()
    shards = collection.newest.write_shards
    assert all(shard == shard_of(item, shards) for item, shard in collection.shard_by_item.items())


@pytest.mark.parametrize(
    ("shards_before", "shards_after", "kind"),
    [
        (1, 4, ReshardKind.GROW),
        (4, 4, ReshardKind.REBALANCE),
        (4, 2, ReshardKind.SHRINK),
        (1, 1, ReshardKind.REBALANCE),
    ],
)
def test_the_kind_of_a_reshard_follows_from_the_numbers_of_shards(
    shards_before: int, shards_after: int, kind: ReshardKind
) -> None:
    assert reshard_kind(ShardCounts(read_shards=shards_before, write_shards=shards_before), shards_after) is kind


def test_growing_adds_read_shards_before_write_shards_and_records_the_former_number() -> None:
    first = start_reshard(ONE_SHARD, 4, ID)
    assert first == ShardCounts(read_shards=4, write_shards=1, job_id=ID)
    last = finish_reshard(first, ReshardKind.GROW, 4)
    assert last == ShardCounts(read_shards=4, write_shards=4, generation=2, former_write_shards=(1,))
    assert finish_reshard(start_reshard(last, 8, ID), ReshardKind.GROW, 8).former_write_shards == (1, 4)


def test_shrinking_removes_write_shards_before_read_shards_and_drops_former_numbers_that_are_too_large() -> None:
    grown = ShardCounts(read_shards=8, write_shards=8, generation=4, former_write_shards=(1, 2, 4))
    first = start_reshard(grown, 2, ID)
    assert (first.read_shards, first.write_shards, first.move_direction, first.former_write_shards) == (
        8,
        2,
        MoveDirection.DOWN,
        (1,),
    )
    last = finish_reshard(first, ReshardKind.SHRINK, 2)
    assert last == ShardCounts(read_shards=2, write_shards=2, generation=5, former_write_shards=(1,))


def test_rebalancing_changes_only_the_former_numbers() -> None:
    grown = ShardCounts(read_shards=8, write_shards=8, generation=3, former_write_shards=(1, 4))
    first = start_reshard(grown, 8, ID)
    assert first == replace(grown, move_direction=MoveDirection.UP, job_id=ID)
    assert finish_reshard(first, ReshardKind.REBALANCE, 8) == replace(grown, former_write_shards=())


@pytest.mark.parametrize("shards", [1, 4, 8])
def test_a_second_change_of_a_collection_is_refused_while_one_is_running(shards: int) -> None:
    with pytest.raises(Conflict, match=ID) as refused:
        start_reshard(replace(ONE_SHARD, job_id=ID), shards, "job_2")
    assert refused.value.extensions["job"] == ID


def test_a_change_of_one_collection_does_not_change_the_others() -> None:
    before = with_counts(tenant(), "users", ShardCounts(read_shards=8))
    after = with_counts(before, "stores", ShardCounts(read_shards=2))
    assert counts_of(after, "users").read_shards == 8
    assert counts_of(after, "stores").read_shards == 2
    assert counts_of(after, "customers") == ONE_SHARD
    assert require_reshardable(after) is after
