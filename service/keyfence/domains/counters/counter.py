"""`Counter`, keys, repository: sharded sums."""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from keyfence.store import timestamps
from keyfence.store.entity import entity
from keyfence.store.keys import TenantKey
from keyfence.store.shards import Shard
from keyfence.store.table import Table
from keyfence.store.writes import ActivityNote, increment

MAX_SHARDS = 100
"""All parts of a counter are read in one transaction while they move, and a transaction takes 100 items."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counter:
    """A part of a number; `part` is what picked its slot, and says nothing more."""

    name: str
    part: str
    created_at: datetime
    updated_at: datetime
    total: int = 0
    version: int = 0


def random_part(name: str, now: datetime) -> Counter:
    """Left to chance, so that those who count at the same time meet in no slot more than they must."""
    return Counter(name=name, part=secrets.token_hex(4), created_at=now, updated_at=now)


counters = entity(
    Counter,
    table=TenantKey(
        "COUNTER#{name}",
        "METADATA",
        shard=Shard("counters", by="part", max_shards=MAX_SHARDS, summed_field="total"),
    ),
)

counter_by_name = counters.get()


@dataclass(frozen=True, slots=True)
class CounterRepository:
    """Exact sums: what is added is added once, whatever becomes of the answer."""

    table: Table
    now: Callable[[], datetime] = timestamps.utc_now

    async def add(self, name: str, note: ActivityNote, by: int = 1) -> None:
        await self.table.write(increment(counters, random_part(name, self.now()), "total", by), note=note)

    async def totals(self, names: Sequence[str]) -> list[int]:
        """One answer for each name, for as few calls as batches allow; what was never counted is 0."""
        found = await self.table.find_in_all_shards(counter_by_name, [{"name": name} for name in names])
        return [sum(part.total for part in parts) for parts in found]
