"""Counters of the tenant that the table at hand belongs to."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from keyfence.domains.counters.access import counter_by_name, counters
from keyfence.domains.counters.model import any_part
from keyfence.store import clock
from keyfence.store.note import Note
from keyfence.store.table import Table
from keyfence.store.write import tally


@dataclass(frozen=True, slots=True)
class Counters:
    """Exact sums: what is added is added once, whatever becomes of the answer."""

    table: Table
    now: Callable[[], datetime] = clock.now

    async def add(self, name: str, note: Note, by: int = 1) -> None:
        await self.table.write(tally(counters, any_part(name, self.now()), "total", by), note=note)

    async def totals(self, names: Sequence[str]) -> list[int]:
        """One answer for each name, for as few calls as batches allow; what was never counted is 0."""
        found = await self.table.find_everywhere(counter_by_name, [{"name": name} for name in names])
        return [sum(part.total for part in parts) for parts in found]
