"""Shard slots: which part of a collection's partition an item lives in."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import blake2b
from itertools import pairwise

from keyfence.errors import BadInput

MAX_SHARDS = 256

_FACTOR = 2862933555777941757
_WORD = 2**64


@dataclass(frozen=True, slots=True)
class Shard:
    """A sharded collection, by its operators' name, and the field whose value picks the slot."""

    collection: str
    by: str
    max_shards: int = MAX_SHARDS
    summed_field: str | None = None
    """The field of a number of which every slot has a part; parts of slots that go are added to others."""


class MoveDirection(StrEnum):
    """Where a mover takes items to: UP to the slots that came last, DOWN from those that are to go."""

    UP = "UP"
    DOWN = "DOWN"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardCounts:
    """Reads look into `read_shards` slots, new items go into the first `write_shards`."""

    read_shards: int = 1
    write_shards: int = 1
    generation: int = 1
    former_write_shards: tuple[int, ...] = ()
    """The earlier `write_shards`, rising, by which items may still lie where they lie."""
    move_direction: MoveDirection | None = None
    job_id: str | None = None
    """The migration that is changing it."""

    def __post_init__(self) -> None:
        if not 1 <= self.write_shards <= self.read_shards <= MAX_SHARDS:
            raise ValueError(f"a collection can have 1 to {MAX_SHARDS} slots, and is not written where it is not read")

    def read_stages(self) -> tuple[range, ...]:
        """All slots, in the order in which they have to be read: together, unless items move.

        Then where they come from is read before where they go, so that none can be missed on its way. By the hash an
        item only ever moves up into a slot that no earlier count had, and down out of one that is to go."""
        match self.move_direction:
            case None:
                return (range(self.read_shards),)
            case MoveDirection.UP:
                bounds = sorted({0, *self.former_write_shards, self.write_shards, self.read_shards})
                return tuple(range(low, high) for low, high in pairwise(bounds))
            case MoveDirection.DOWN:
                return range(self.write_shards, self.read_shards), range(self.write_shards)

    def candidates(self, value: str) -> tuple[int, ...]:
        """The slots that an item with this value may be in: by every count that somebody may write with.

        That need not be one that this map knows of: where slots are to go, others may know of fewer already."""
        return candidate_shards(value, self.read_shards)


ONE_SHARD = ShardCounts()


@dataclass(frozen=True, slots=True)
class ShardMap:
    """The slots of each of a tenant's collections; one, where nothing is said."""

    counts: Mapping[str, ShardCounts] = field(default_factory=dict)

    @classmethod
    def even(cls, counts: Mapping[str, int]) -> "ShardMap":
        """Of collections that have had so many slots from the first day."""
        return cls({name: ShardCounts(read_shards=count, write_shards=count) for name, count in counts.items()})

    def counts_of(self, collection: str) -> ShardCounts:
        return self.counts.get(collection, ONE_SHARD)


UNSHARDED = ShardMap()


@dataclass(frozen=True, slots=True)
class ShardedCollections:
    """The sharded collections of a table, by the names that operators use."""

    shards: Mapping[str, Shard] = field(default_factory=dict)
    in_table_key: frozenset[str] = frozenset()
    """Collections whose items have the shard in their own key, not only in an index key. Such an item is moved to
    another shard by deleting it and putting it again."""

    def check(self, name: str) -> str:
        """Returns the name of a collection. Raises BadInput if there is none of that name."""
        if name not in self.shards:
            raise BadInput(f"collection must be one of {', '.join(self.shards)}", field="collection")
        return name

    def check_count(self, name: str, count: int) -> int:
        """Returns the number of shards. Raises BadInput if the collection cannot have that many."""
        if not 1 <= count <= self.max_shards(name):
            raise BadInput(f"{name} can have 1 to {self.max_shards(name)} shards", field="shards")
        return count

    def max_shards(self, name: str) -> int:
        return self.shards[name].max_shards if name in self.shards else MAX_SHARDS

    def counts(self, stored: Mapping[str, ShardCounts]) -> dict[str, ShardCounts]:
        """Returns the counts of every collection: one shard where a tenant has none stored."""
        return {name: stored.get(name, ONE_SHARD) for name in self.shards}


def shard_of(value: str, count: int) -> int:
    """By jump consistent hashing (Lamping and Veach): with one slot more, an item stays or goes into the new one."""
    return 0 if count == 1 else candidate_shards(value, count)[-1]


def candidate_shards(value: str, count: int) -> tuple[int, ...]:
    """By each of the counts up to this one, rising: of 8 slots about 3, of 256 about 6."""
    state = int.from_bytes(blake2b(value.encode(), digest_size=8).digest())
    slots, ahead = list[int](), 0
    while ahead < count:
        slots.append(ahead)
        state = (state * _FACTOR + 1) % _WORD
        ahead = int((ahead + 1) * (2**31 / ((state >> 33) + 1)))
    return tuple(slots)


def shard_suffix(slot: int) -> str:
    return f"{slot:02x}"
