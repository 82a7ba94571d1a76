"""A counter whose value is the sum of parts in several shards, so that many writers can add to it at the same time."""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from keyfence.store import timestamps
from keyfence.store.entity import entity
from keyfence.store.keys import TenantKey
from keyfence.store.shards import Sharding
from keyfence.store.table import Table
from keyfence.store.writes import ActivityNote, increment

MAX_SHARDS = 100
"""A counter has at most one part in each shard. A reshard reads all of them in one transaction, which can contain at
most 100 items."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterPart:
    """One part of a counter. `part` is random text, from which the shard is computed."""

    name: str
    part: str
    created_at: datetime
    updated_at: datetime
    total: int = 0
    version: int = 0


def random_part(name: str, now: datetime) -> CounterPart:
    """Returns an empty part in a random shard, so that concurrent writers rarely write to the same item."""
    return CounterPart(name=name, part=secrets.token_hex(4), created_at=now, updated_at=now)


counters = entity(
    CounterPart,
    table=TenantKey(
        "COUNTER#{name}",
        "METADATA",
        sharding=Sharding("counters", hashed_field="part", max_shards=MAX_SHARDS, summed_field="total"),
    ),
)

counter_by_name = counters.get()


@dataclass(frozen=True, slots=True)
class CounterRepository:
    """The counters of the tenant that the table belongs to."""

    table: Table
    now: Callable[[], datetime] = timestamps.utc_now

    async def add(self, name: str, note: ActivityNote, number: int = 1) -> None:
        """Adds `number` to the counter exactly once, even if the write is retried."""
        await self.table.write(increment(counters, random_part(name, self.now()), "total", number), note=note)

    async def totals(self, names: Sequence[str]) -> list[int]:
        """Returns the total of each counter: 0 if nothing was added. Reads the parts of all counters in batches."""
        parts_of_each = await self.table.find_in_all_shards(counter_by_name, [{"name": name} for name in names])
        return [sum(part.total for part in parts) for parts in parts_of_each]
