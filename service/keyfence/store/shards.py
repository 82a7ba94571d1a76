"""Sharded collections: lists whose items are spread over several partitions (shards).

The partition key of a shard ends with the shard's number.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import blake2b
from itertools import pairwise

from keyfence.errors import BadInput

MAX_SHARDS = 256
"""The limit follows from the two hexadecimal digits of a shard number."""

_FACTOR = 2862933555777941757
"""The factor of the random number generator in the published algorithm of jump consistent hashing."""
_MODULUS = 2**64
"""The generator computes with 64-bit numbers."""


@dataclass(frozen=True, slots=True)
class Sharding:
    """Declares that a key is sharded."""

    collection: str
    """The name of the collection, as operators use it."""
    hashed_field: str
    """The field whose hash decides the shard of an item."""
    summed_field: str | None = None
    """The field of a sharded counter. Each shard stores a part of the sum. When a shard is removed, its part is added
    to another shard."""
    max_shards: int = MAX_SHARDS


class MoveDirection(StrEnum):
    """The direction in which a reshard moves items."""

    UP = "UP"
    """Into shards with higher numbers, which were added later."""
    DOWN = "DOWN"
    """Out of the shards that are removed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardCounts:
    """How many shards one collection has, now and during a reshard."""

    read_shards: int = 1
    """How many shards a query reads."""
    write_shards: int = 1
    """How many shards new items are written to: the shards from 0 to `write_shards` - 1."""
    generation: int = 1
    """A number that increases whenever `write_shards` changes."""
    former_write_shards: tuple[int, ...] = ()
    """Earlier values of `write_shards`, ascending. An item may still be in the shard that it had with such a value."""
    move_direction: MoveDirection | None = None
    """None while no items move."""
    job_id: str | None = None
    """The job that changes these counts, while there is one."""

    def __post_init__(self) -> None:
        if not 1 <= self.write_shards <= self.read_shards <= MAX_SHARDS:
            raise ValueError(f"shard counts must be 1 <= write_shards <= read_shards <= {MAX_SHARDS}")

    def read_stages(self) -> tuple[range, ...]:
        """Returns all shards, grouped into stages that must be read one after the other.

        While no items move, there is one stage. While items move, the shards that items leave are read before the
        shards that items enter, so that no moving item is missed. UP moves items only into shards that no earlier
        count had, and DOWN only out of shards that are removed."""
        match self.move_direction:
            case None:
                return (range(self.read_shards),)
            case MoveDirection.UP:
                bounds = sorted({0, *self.former_write_shards, self.write_shards, self.read_shards})
                return tuple(range(low, high) for low, high in pairwise(bounds))
            case MoveDirection.DOWN:
                return range(self.write_shards, self.read_shards), range(self.write_shards)

    def candidates(self, value: str) -> tuple[int, ...]:
        """Returns the shards that an item with this hashed value may be in, for every count up to `read_shards`.

        All counts matter, because another server may write with a count that this server does not know yet."""
        return candidate_shards(value, self.read_shards)


ONE_SHARD = ShardCounts()


@dataclass(frozen=True, slots=True)
class ShardMap:
    """The shard counts of a tenant's collections. A collection that is not listed has one shard."""

    counts: Mapping[str, ShardCounts] = field(default_factory=dict)

    def counts_of(self, collection: str) -> ShardCounts:
        return self.counts.get(collection, ONE_SHARD)


UNSHARDED = ShardMap()
"""Every collection has one shard."""


@dataclass(frozen=True, slots=True)
class ShardedCollections:
    """The sharded collections of a table."""

    shardings: Mapping[str, Sharding] = field(default_factory=dict)
    """The sharding of each collection, by the collection's name."""
    sharded_by_table_key: frozenset[str] = frozenset()
    """Collections that have the shard in the table key of their items, not only in an index key. A table key cannot
    change, so an item is moved to another shard by a Put and a Delete."""

    def checked_name(self, name: str) -> str:
        """Returns the name. Raises BadInput if no collection has this name."""
        if name not in self.shardings:
            raise BadInput(f"collection must be one of {', '.join(self.shardings)}", field="collection")
        return name

    def checked_count(self, name: str, count: int) -> int:
        """Returns the count. Raises BadInput if the collection cannot have this many shards."""
        if not 1 <= count <= self.max_shards(name):
            raise BadInput(f"{name} can have 1 to {self.max_shards(name)} shards", field="shards")
        return count

    def max_shards(self, name: str) -> int:
        return self.shardings[name].max_shards if name in self.shardings else MAX_SHARDS

    def all_counts(self, stored_counts: Mapping[str, ShardCounts]) -> dict[str, ShardCounts]:
        """Returns the counts of every collection. A collection without stored counts has one shard."""
        return {name: stored_counts.get(name, ONE_SHARD) for name in self.shardings}


def shard_of(value: str, count: int) -> int:
    """Returns the shard of a value for this count, by jump consistent hashing (Lamping and Veach).

    If the count grows by one, each value keeps its shard or moves into the new shard."""
    return 0 if count == 1 else candidate_shards(value, count)[-1]


def candidate_shards(value: str, count: int) -> tuple[int, ...]:
    """Returns the shards that a value has for the counts from 1 to `count`, ascending.

    They are few: about 3 for a count of 8, about 6 for a count of 256."""
    state = int.from_bytes(blake2b(value.encode(), digest_size=8).digest())
    shards, next_shard = list[int](), 0
    while next_shard < count:
        shards.append(next_shard)
        state = (state * _FACTOR + 1) % _MODULUS
        next_shard = int((next_shard + 1) * (2**31 / ((state >> 33) + 1)))
    return tuple(shards)


def shard_suffix(shard: int) -> str:
    """Returns a shard number as the end of a partition key."""
    return f"{shard:02x}"
