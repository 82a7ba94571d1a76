"""The migration of kind RESHARD: a collection gets other slots while it is read and written."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import orjson

from keyfence.errors import Internal
from keyfence.migrations.done import Done, fingerprint
from keyfence.migrations.keys import declared
from keyfence.migrations.passage import Pass
from keyfence.migrations.run import Run
from keyfence.migrations.slots import Misplaced, misplaced, put_right
from keyfence.store.batch import get_many
from keyfence.store.codec import Item
from keyfence.store.entity import Entity, key_names
from keyfence.store.keys import Fence
from keyfence.store.location import Home
from keyfence.store.shards import ShardCounts
from keyfence.store.table import Table
from keyfence.tenancy.model import Tenant
from keyfence.tenancy.repository import Register
from keyfence.tenancy.resharding import DONE, OWN_KEY, Way, counts_of, ended, with_counts
from keyfence_iam.boundary import TenantId

SETTLING = "SETTLING"
SETTLED = "SETTLED"
AT_ONCE = 8
"""How many items of a segment are moved at the same time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resharding:
    """The program; where the map says that it is done, nothing is left to do. `told` hears of the tenant."""

    register: Register
    home: Callable[[TenantId], Awaitable[Home]]
    as_tenant: Callable[[Home], Table]
    settle: timedelta
    told: Callable[[Tenant], None] = lambda _: None
    entities: Mapping[str, Entity[Any]] = field(default_factory=declared)

    async def __call__(self, run: Run) -> None:
        asked = orjson.loads(run.migration.detail)
        way, collection, shards = Way(asked["way"]), asked["collection"], asked["shards"]
        counts = counts_of(await self.register.get(run.migration.tenant), collection)
        if counts.migration != run.migration.id:
            return
        await self._settle(run)
        if way is not Way.GROW:
            await self._move(run, collection, counts)
        await self._publish(run, way, collection, shards)

    async def _settle(self, run: Run) -> None:
        """By the clock of this worker alone: who takes over waits once more."""
        if run.migration.phase not in {"BEGUN", SETTLING}:
            return
        await run.keep(phase=SETTLING)
        await run.wait(self.settle)
        run.means.seam("settled")
        await run.keep(phase=SETTLED)

    async def _move(self, run: Run, collection: str, counts: ShardCounts) -> None:
        tenant = run.migration.tenant
        home = await self.home(tenant)
        steps = _Steps(run.leased(self.as_tenant(home)), self.entities, collection, counts)
        one = Pass(name="MOVING", step=steps.move, inside=Fence.around(tenant), table=steps.table.caller.table)
        one = replace(one, whole=collection in OWN_KEY)
        await run.until_right(one, replace(one, name="VERIFYING", step=steps.count))

    async def _publish(self, run: Run, way: Way, collection: str, shards: int) -> None:
        id = run.migration.id

        def published(tenant: Tenant) -> Tenant:
            run.check_lease()
            counts = counts_of(tenant, collection)
            return with_counts(tenant, collection, ended(counts, way, shards)) if counts.migration == id else tenant

        run.means.seam("before publishing")
        detail = {"collection": collection, "shards": shards, "migration": id, "moved": run.migration.items_copied}
        self.told(await self.register.change(run.migration.tenant, DONE[way], published, detail=detail))
        run.means.seam("published")


@dataclass(frozen=True, slots=True)
class _Steps:
    """What is done to a page."""

    table: Table
    entities: Mapping[str, Entity[Any]]
    collection: str
    counts: ShardCounts

    async def count(self, items: Sequence[Item]) -> Done:
        return Done(wrong=len(self._found(items)))

    async def move(self, items: Sequence[Item]) -> Done:
        found, turns = self._found(items), asyncio.Semaphore(AT_ONCE)
        before = self.table.caller.meter.write_units
        moved = await asyncio.gather(*(self._one(one, turns) for one in found))
        await self._compare([one for one, there in zip(found, moved, strict=True) if there and _is_copied(one)])
        units = max(float(len(found)), self.table.caller.meter.write_units - before)
        digest = sum(fingerprint(one.item) for one, there in zip(found, moved, strict=True) if there)
        contended = moved.count(False)
        return Done(
            changed=len(found) - contended,
            digest=digest,
            counts={"contended": contended} if contended else {},
            units=units,
        )

    def _found(self, items: Sequence[Item]) -> list[Misplaced]:
        return [one for item in items for one in misplaced(item, self.entities, self.collection, self.counts)]

    async def _one(self, one: Misplaced, turns: asyncio.Semaphore) -> bool:
        async with turns:
            return await put_right(self.table, one, self.counts)

    async def _compare(self, moved: Sequence[Misplaced]) -> None:
        """What is there now is what was there, or somebody has changed it since."""
        wanted = {_address(here): here for here in map(_arrived, moved)}
        keys = [{"PK": item["PK"], "SK": item["SK"]} for item in wanted.values()]
        for item in await get_many(self.table.caller, keys, consistent=True):
            here = wanted[_address(item)]
            if item["version"] == here["version"] and fingerprint(item) != fingerprint(here):
                raise Internal(f"{item['PK']['S']} / {item['SK']['S']} is not what it was before it was moved")


def _is_copied(one: Misplaced) -> bool:
    """What stays where it is gets another key of an index and nothing else, whoever else changes it."""
    return one.place == "table" and one.shard.folds is None


def _arrived(one: Misplaced) -> Item:
    return {**one.item, key_names(one.place).partition: {"S": one.partition}}


def _address(item: Item) -> tuple[str, str]:
    return item["PK"]["S"], item["SK"]["S"]
