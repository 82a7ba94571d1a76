"""Shard slots: which part of a collection's partition an item lives in."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b

LIMIT = 256


@dataclass(frozen=True, slots=True)
class Shard:
    """A sharded collection, by its operators' name, and the field whose value picks the slot."""

    collection: str
    by: str


@dataclass(frozen=True, slots=True)
class ShardMap:
    """How many slots each of a tenant's collections has; one, where nothing is said."""

    counts: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for collection, count in self.counts.items():
            if not 1 <= count <= LIMIT:
                raise ValueError(f"{collection} can have 1 to {LIMIT} slots, not {count}")

    def count(self, collection: str) -> int:
        return self.counts.get(collection, 1)


UNSHARDED = ShardMap()


def slot_of(value: str, count: int) -> int:
    return 0 if count == 1 else int.from_bytes(blake2b(value.encode(), digest_size=8).digest()) % count


def slot_text(slot: int) -> str:
    return f"{slot:02x}"
