"""Answers that differed between the two tables of a move, as its servers saw them."""

from dataclasses import dataclass
from datetime import datetime

from keyfence.store import clock
from keyfence.store.table import Table
from keyfence.store.write import delete, tally
from keyfence.tenancy.access import difference_by_migration, differences
from keyfence.tenancy.difference import Difference


@dataclass(frozen=True, slots=True)
class Differences:
    """Counted for each migration."""

    table: Table

    async def add(self, migration: str) -> None:
        now: datetime = clock.now()
        one = Difference(migration=migration, created_at=now, updated_at=now)
        await self.table.write(tally(differences, one, "total", 1))

    async def count(self, migration: str) -> int:
        found = await self.table.find(difference_by_migration, migration=migration)
        return found.total if found else 0

    async def forget(self, migration: str) -> None:
        await self.table.write(delete(differences, {"migration": migration}))
