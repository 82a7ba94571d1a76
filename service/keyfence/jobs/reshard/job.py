"""The reshard program: settle, move items, verify, publish."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, NamedTuple

import orjson

from keyfence.errors import Conflict, Internal
from keyfence.jobs.reshard.start import DONE, ReshardKind, counts_of, finish_reshard, with_counts
from keyfence.jobs.runner import JobRun
from keyfence.jobs.scan_pass import PassResult, ScanPass, item_digest
from keyfence.store.codec import Item, attribute_name, item_key
from keyfence.store.dynamodb.caller import get_many
from keyfence.store.entities import Entities
from keyfence.store.entity import Entity, Index, key_names
from keyfence.store.item_writes import add_and_delete, move_item, update_index_keys
from keyfence.store.keys import Fence, Key
from keyfence.store.shards import MoveDirection, Shard, ShardCounts, ShardMap, shard_of, shard_suffix
from keyfence.store.table import Table
from keyfence.store.tenant_location import TenantLocation
from keyfence.tenancy.repository import TenantRepository
from keyfence.tenancy.tenant import Tenant
from keyfence_iam.tenant import TenantId

EntitiesByType = Mapping[str, Entity[Any]]


class MisplacedItem(NamedTuple):
    """An item and the partition that it should be in."""

    item: Item
    entity: Entity[Any]
    place: Index
    shard: Shard
    partition: str


def misplaced(item: Item, entities: EntitiesByType, collection: str, counts: ShardCounts) -> Iterator[MisplacedItem]:
    """By its type; an item of an unknown type is in no shard that is read."""
    entity = entities.get(item.get("type", {}).get("S", ""))
    if entity is None:
        return
    for index, key in entity.keys.items():
        if key.shard and key.shard.collection == collection and (partition := _elsewhere(item, index, key, counts)):
            yield MisplacedItem(item, entity, index, key.shard, partition)


def _elsewhere(item: Item, index: Index, key: Key, counts: ShardCounts) -> str | None:
    kept = item.get(key_names(index).partition)
    if kept is None or key.shard is None:
        return None
    plain, _, suffix = kept["S"].rpartition("#")
    try:
        here, there = int(suffix, 16), shard_of(item[attribute_name(key.shard.by)]["S"], counts.write_shards)
    except (KeyError, ValueError) as error:
        words = f"{item['PK']['S']} / {item['SK']['S']} is no item of {key.shard.collection} that can be moved"
        raise Conflict(f"{words}; look at it, and go on") from error
    return f"{plain}#{shard_suffix(there)}" if _has_to_go(here, there, key.shard, counts) else None


def _has_to_go(here: int, there: int, shard: Shard, counts: ShardCounts) -> bool:
    """A part of a sum can be in any shard."""
    if counts.move_direction is MoveDirection.DOWN or shard.summed_field:
        return here >= counts.write_shards
    return here != there


async def move_to_shard(table: Table, one: MisplacedItem, counts: ShardCounts) -> bool:
    """Whether it is there now; False where somebody else changed it meanwhile."""
    if one.place != "table":
        return await update_index_keys(table, one.item, {key_names(one.place).partition: one.partition})
    if one.shard.summed_field is None:
        return await move_item(table, one.item, one.partition)
    shards = ShardMap({one.shard.collection: counts})
    return await add_and_delete(table, one.item, one.partition, one.entity, one.shard.summed_field, shards)


SETTLING = "SETTLING"
SETTLED = "SETTLED"
AT_ONCE = 8
"""How many items of a segment are moved at the same time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReshardJob:
    """The program; where the map says that it is done, nothing is left to do. `told` hears of the tenant."""

    register: TenantRepository
    location: Callable[[TenantId], Awaitable[TenantLocation]]
    as_tenant: Callable[[TenantLocation], Table]
    settle: timedelta
    entities: Entities
    told: Callable[[Tenant], None] = lambda _: None

    async def __call__(self, run: JobRun) -> None:
        asked = orjson.loads(run.migration.detail)
        way, collection, shards = ReshardKind(asked["way"]), asked["collection"], asked["shards"]
        counts = counts_of(await self.register.get(run.migration.tenant), collection)
        if counts.job_id != run.migration.id:
            return
        await self._settle(run)
        if way is not ReshardKind.GROW:
            await self._move(run, collection, counts)
        await self._publish(run, way, collection, shards)

    async def _settle(self, run: JobRun) -> None:
        """By the clock of this worker alone: who takes over waits once more."""
        if run.migration.phase not in {"BEGUN", SETTLING}:
            return
        await run.keep(phase=SETTLING)
        await run.wait(self.settle)
        run.means.seam("settled")
        await run.keep(phase=SETTLED)

    async def _move(self, run: JobRun, collection: str, counts: ShardCounts) -> None:
        tenant = run.migration.tenant
        location = await self.location(tenant)
        steps = _Steps(run.leased(self.as_tenant(location)), self.entities.of_tenants, collection, counts)
        one = ScanPass(name="MOVING", step=steps.move, inside=Fence.for_tenant(tenant), table=steps.table.caller.table)
        one = replace(one, whole=collection in self.entities.collections.in_table_key)
        await run.until_right(one, replace(one, name="VERIFYING", step=steps.count))

    async def _publish(self, run: JobRun, way: ReshardKind, collection: str, shards: int) -> None:
        id = run.migration.id

        def published(tenant: Tenant) -> Tenant:
            run.check_lease()
            counts = counts_of(tenant, collection)
            return (
                with_counts(tenant, collection, finish_reshard(counts, way, shards)) if counts.job_id == id else tenant
            )

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

    async def count(self, items: Sequence[Item]) -> PassResult:
        return PassResult(wrong=len(self._found(items)))

    async def move(self, items: Sequence[Item]) -> PassResult:
        found, turns = self._found(items), asyncio.Semaphore(AT_ONCE)
        before = self.table.caller.meter.write_units
        moved = await asyncio.gather(*(self._one(one, turns) for one in found))
        await self._compare([one for one, there in zip(found, moved, strict=True) if there and _is_copied(one)])
        units = max(float(len(found)), self.table.caller.meter.write_units - before)
        digest = sum(item_digest(one.item) for one, there in zip(found, moved, strict=True) if there)
        contended = moved.count(False)
        return PassResult(
            changed=len(found) - contended,
            digest=digest,
            counts={"contended": contended} if contended else {},
            units=units,
        )

    def _found(self, items: Sequence[Item]) -> list[MisplacedItem]:
        return [one for item in items for one in misplaced(item, self.entities, self.collection, self.counts)]

    async def _one(self, one: MisplacedItem, turns: asyncio.Semaphore) -> bool:
        async with turns:
            return await move_to_shard(self.table, one, self.counts)

    async def _compare(self, moved: Sequence[MisplacedItem]) -> None:
        """What is there now is what was there, or somebody has changed it since."""
        wanted = {item_key(here): here for here in map(_arrived, moved)}
        keys = [{"PK": item["PK"], "SK": item["SK"]} for item in wanted.values()]
        for item in await get_many(self.table.caller, keys, consistent=True):
            here = wanted[item_key(item)]
            if item["version"] == here["version"] and item_digest(item) != item_digest(here):
                raise Internal(f"{item['PK']['S']} / {item['SK']['S']} is not what it was before it was moved")


def _is_copied(one: MisplacedItem) -> bool:
    """What stays where it is gets another key of an index and nothing else, whoever else changes it."""
    return one.place == "table" and one.shard.summed_field is None


def _arrived(one: MisplacedItem) -> Item:
    return {**one.item, key_names(one.place).partition: {"S": one.partition}}
