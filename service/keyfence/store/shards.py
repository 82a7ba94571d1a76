"""Sharded collections: one list of items in several partitions, each with a shard number at the end of its key."""

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
class Sharding:
    """Declares that a key is sharded: the collection, by the name that operators use, and the field that is hashed."""

    collection: str
    hashed_field: str
    summed_field: str | None = None
    """A number of which every shard stores a part. When a shard goes away, its part is added to another one."""
    max_shards: int = MAX_SHARDS


class MoveDirection(StrEnum):
    """The direction in which a reshard moves items: UP into the newest shards, DOWN out of removed shards."""

    UP = "UP"
    DOWN = "DOWN"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardCounts:
    """The shards of one collection. Reads cover `read_shards` shards; new items go into the first `write_shards`."""

    read_shards: int = 1
    write_shards: int = 1
    generation: int = 1
    former_write_shards: tuple[int, ...] = ()
    """Earlier values of `write_shards`, ascending. Items written then may still be in the shards of that time."""
    move_direction: MoveDirection | None = None
    job_id: str | None = None
    """The job that changes these counts, while there is one."""

    def __post_init__(self) -> None:
        if not 1 <= self.write_shards <= self.read_shards <= MAX_SHARDS:
            raise ValueError(f"a collection has 1 to {MAX_SHARDS} shards, and reads cover all shards that are written")

    def read_stages(self) -> tuple[range, ...]:
        """Returns all shards, grouped into stages that must be read one after the other.

        There is one stage unless items move. Then the shards that items leave are read before the shards that items
        enter, so that a moving item cannot be missed. The hash only moves an item up into a shard that no earlier
        count had, or down out of a shard that goes away."""
        match self.move_direction:
            case None:
                return (range(self.read_shards),)
            case MoveDirection.UP:
                bounds = sorted({0, *self.former_write_shards, self.write_shards, self.read_shards})
                return tuple(range(low, high) for low, high in pairwise(bounds))
            case MoveDirection.DOWN:
                return range(self.write_shards, self.read_shards), range(self.write_shards)

    def candidates(self, value: str) -> tuple[int, ...]:
        """Returns the shards that an item with this value may be in, for every count that some server may write with.

        These are not only the counts known here: while a collection shrinks, other servers may already know a smaller
        count."""
        return candidate_shards(value, self.read_shards)


ONE_SHARD = ShardCounts()


@dataclass(frozen=True, slots=True)
class ShardMap:
    """The shard counts of a tenant's collections. A collection that is not listed has one shard."""

    counts: Mapping[str, ShardCounts] = field(default_factory=dict)

    def counts_of(self, collection: str) -> ShardCounts:
        return self.counts.get(collection, ONE_SHARD)


UNSHARDED = ShardMap()


@dataclass(frozen=True, slots=True)
class ShardedCollections:
    """The sharded collections of a table, by the names that operators use."""

    shardings: Mapping[str, Sharding] = field(default_factory=dict)
    in_table_key: frozenset[str] = frozenset()
    """Collections whose items have the shard in their own key, not only in an index key. Such an item is moved to
    another shard by deleting it and putting it again."""

    def checked_name(self, name: str) -> str:
        """Returns the name of a collection. Raises BadInput if there is none of that name."""
        if name not in self.shardings:
            raise BadInput(f"collection must be one of {', '.join(self.shardings)}", field="collection")
        return name

    def checked_count(self, name: str, count: int) -> int:
        """Returns the number of shards. Raises BadInput if the collection cannot have that many."""
        if not 1 <= count <= self.max_shards(name):
            raise BadInput(f"{name} can have 1 to {self.max_shards(name)} shards", field="shards")
        return count

    def max_shards(self, name: str) -> int:
        return self.shardings[name].max_shards if name in self.shardings else MAX_SHARDS

    def all_counts(self, stored: Mapping[str, ShardCounts]) -> dict[str, ShardCounts]:
        """Returns the counts of every collection: one shard where a tenant has none stored."""
        return {name: stored.get(name, ONE_SHARD) for name in self.shardings}


def shard_of(value: str, count: int) -> int:
    """Returns the shard of a value by jump consistent hashing (Lamping and Veach): with one more shard, a value keeps
    its shard or moves into the new one."""
    return 0 if count == 1 else candidate_shards(value, count)[-1]


def candidate_shards(value: str, count: int) -> tuple[int, ...]:
    """Returns the shards that a value has for any count up to this one, ascending: about 3 of 8, about 6 of 256."""
    state = int.from_bytes(blake2b(value.encode(), digest_size=8).digest())
    shards, next_shard = list[int](), 0
    while next_shard < count:
        shards.append(next_shard)
        state = (state * _FACTOR + 1) % _WORD
        next_shard = int((next_shard + 1) * (2**31 / ((state >> 33) + 1)))
    return tuple(shards)


def shard_suffix(shard: int) -> str:
    return f"{shard:02x}"
