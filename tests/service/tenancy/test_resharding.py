"""Whatever is done to a collection's slots, every server that may still be at work finds every item where it lies."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfence.errors import Conflict
from keyfence.jobs.reshard.shard_count_changes import (
    ReshardKind,
    counts_of,
    finish_reshard,
    require_reshardable,
    reshard_kind,
    start_reshard,
    with_counts,
)
from keyfence.store.shards import MAX_SHARDS, ONE_SHARD, MoveDirection, ShardCounts, shard_of
from tests.service.tenancy.test_registry import tenant
from tests.tier import examples

ID = "job_1"
TARGETS = st.lists(st.integers(1, 12), max_size=6)
"""What is wished for, one after the other: more, fewer, or as many as there are, which is to rebalance."""


@dataclass(slots=True)
class Collection:
    """Items by the slot that they lie in, and every map that some server may still go by, the newest last."""

    maps: list[ShardCounts] = field(default_factory=lambda: [ONE_SHARD])
    kept: dict[str, int] = field(default_factory=dict)
    made: int = 0

    @property
    def newest(self) -> ShardCounts:
        return self.maps[-1]

    def publish(self, counts: ShardCounts) -> None:
        """Servers that know of it and servers that do not write at the same time."""
        self.maps.append(counts)
        for known in self.maps * 2:
            self.made += 1
            self.kept[f"v{self.made}"] = shard_of(f"v{self.made}", known.write_shards)
        self.check()

    def settle(self) -> None:
        """Nobody goes by an earlier map any more."""
        del self.maps[:-1]

    def move(self) -> None:
        """What the mover does, one item at a time."""
        counts = self.newest
        waves = {slot: number for number, wave in enumerate(counts.read_stages()) for slot in wave}
        for value, here in self.kept.items():
            there = shard_of(value, counts.write_shards)
            if here != there and (counts.move_direction is MoveDirection.UP or here >= counts.write_shards):
                assert waves[here] < waves[there], "an item has to be met where it went"
                self.kept[value] = there
                self.check([value])

    def check(self, values: Sequence[str] | None = None) -> None:
        for known in self.maps:
            assert 1 <= known.write_shards <= known.read_shards <= MAX_SHARDS
            assert list(known.former_write_shards) == sorted(set(known.former_write_shards))
            for value in self.kept if values is None else values:
                slot = self.kept[value]
                assert slot < known.read_shards, "a list would not show it"
                assert slot in known.candidates(value), "it would not be found by its key"

    def reshard(self, shards: int) -> None:
        way = reshard_kind(self.newest, shards)
        self.publish(start_reshard(self.newest, shards, ID))
        self.settle()
        if way is not ReshardKind.GROW:
            self.move()
        self.publish(finish_reshard(self.newest, way, shards))


@examples(60)
@given(TARGETS)
def test_every_item_is_found_by_every_map_that_may_be_in_use(targets: Sequence[int]) -> None:
    collection = Collection()
    for number, shards in enumerate(targets, start=1):
        collection.reshard(shards)
        last = collection.newest
        assert (last.read_shards, last.write_shards) == (shards, shards)
        assert (last.move_direction, last.job_id) == (None, None)
        assert last.generation <= number + 1


@examples(60)
@given(TARGETS)
def test_former_counts_are_those_by_which_items_lie_and_none_once_they_are_rebalanced(targets: Sequence[int]) -> None:
    collection = Collection()
    for shards in targets:
        collection.reshard(shards)
        last = collection.newest
        assert all(count < last.write_shards for count in last.former_write_shards)
        for value, slot in collection.kept.items():
            assert slot in {shard_of(value, count) for count in (*last.former_write_shards, last.write_shards)}
    collection.reshard(collection.newest.write_shards)
    assert collection.newest.former_write_shards == ()
    shards = collection.newest.write_shards
    assert all(slot == shard_of(value, shards) for value, slot in collection.kept.items())


@pytest.mark.parametrize(
    ("from_", "to", "way"),
    [
        (1, 4, ReshardKind.GROW),
        (4, 4, ReshardKind.REBALANCE),
        (4, 2, ReshardKind.SHRINK),
        (1, 1, ReshardKind.REBALANCE),
    ],
)
def test_the_way_is_where_it_leads(from_: int, to: int, way: ReshardKind) -> None:
    assert reshard_kind(ShardCounts(read_shards=from_, write_shards=from_), to) is way


def test_growing_widens_reads_before_writes_and_remembers_how_many_there_were() -> None:
    first = start_reshard(ONE_SHARD, 4, ID)
    assert first == ShardCounts(read_shards=4, write_shards=1, job_id=ID)
    last = finish_reshard(first, ReshardKind.GROW, 4)
    assert last == ShardCounts(read_shards=4, write_shards=4, generation=2, former_write_shards=(1,))
    assert finish_reshard(start_reshard(last, 8, ID), ReshardKind.GROW, 8).former_write_shards == (1, 4)


def test_shrinking_narrows_writes_before_reads_and_forgets_the_counts_whose_slots_go() -> None:
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


def test_rebalancing_changes_nothing_but_where_items_lie() -> None:
    grown = ShardCounts(read_shards=8, write_shards=8, generation=3, former_write_shards=(1, 4))
    first = start_reshard(grown, 8, ID)
    assert first == replace(grown, move_direction=MoveDirection.UP, job_id=ID)
    assert finish_reshard(first, ReshardKind.REBALANCE, 8) == replace(grown, former_write_shards=())


@pytest.mark.parametrize("shards", [1, 4, 8])
def test_one_change_at_a_time(shards: int) -> None:
    with pytest.raises(Conflict, match=ID) as refused:
        start_reshard(replace(ONE_SHARD, job_id=ID), shards, "job_2")
    assert refused.value.extensions["job"] == ID


def test_a_change_of_one_collection_leaves_the_others() -> None:
    before = with_counts(tenant(), "users", ShardCounts(read_shards=8))
    after = with_counts(before, "stores", ShardCounts(read_shards=2))
    assert counts_of(after, "users").read_shards == 8
    assert counts_of(after, "stores").read_shards == 2
    assert counts_of(after, "customers") == ONE_SHARD
    assert require_reshardable(after) is after
