"""The program of a reshard: wait until every server knows, move misplaced items, verify, publish the new counts."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, NamedTuple

import orjson

from keyfence.errors import Conflict, Internal
from keyfence.jobs.job_record import STARTED
from keyfence.jobs.job_runner import JobRun
from keyfence.jobs.reshard.start_reshard import (
    FINISHED_EVENTS,
    ReshardKind,
    counts_of,
    finish_reshard,
    with_counts,
)
from keyfence.jobs.scan_checkpoint import PassResult
from keyfence.jobs.scan_pass import ScanPass, item_digest, repeat_until_clean
from keyfence.store.codec import Item, attribute_name, item_key
from keyfence.store.dynamodb.batches import get_many
from keyfence.store.entity import Entity, Index, key_names
from keyfence.store.entity_registry import EntityRegistry
from keyfence.store.job_writes import add_number_and_delete, move_item, update_index_keys
from keyfence.store.keys import Fence, Key
from keyfence.store.shards import MoveDirection, ShardCounts, Sharding, ShardMap, shard_of, shard_suffix
from keyfence.store.table import Table
from keyfence.store.tenant_location import TenantLocation
from keyfence.tenancy.repository import TenantRepository
from keyfence.tenancy.tenant import Tenant
from keyfence_iam.tenant import TenantId

SETTLING = "SETTLING"
SETTLED = "SETTLED"
CONCURRENT_MOVES = 8
"""How many items of a segment are moved at the same time."""

EntitiesByType = Mapping[str, Entity[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReshardJob:
    """The program. It does nothing if the shard counts show that the reshard has already been published."""

    tenants: TenantRepository
    location: Callable[[TenantId], Awaitable[TenantLocation]]
    table_at: Callable[[TenantLocation], Table]
    settle: timedelta
    entities: EntityRegistry
    on_tenant_changed: Callable[[Tenant], None] = lambda _: None

    async def __call__(self, run: JobRun) -> None:
        parameters = orjson.loads(run.job.parameters)
        kind, collection = ReshardKind(parameters["kind"]), parameters["collection"]
        counts = counts_of(await self.tenants.get(run.job.tenant), collection)
        if counts.job_id != run.job.id:
            return
        await self._settle(run)
        if kind is not ReshardKind.GROW:
            await self._move_items(run, collection, counts)
        await self._publish(run, kind, collection, parameters["shards"])

    async def _settle(self, run: JobRun) -> None:
        """Waits the whole settle time, also in a worker that takes over: it cannot trust another machine's clock."""
        if run.job.phase not in {STARTED, SETTLING}:
            return
        await run.save(phase=SETTLING)
        await run.wait(self.settle)
        run.resources.failpoint("settled")
        await run.save(phase=SETTLED)

    async def _move_items(self, run: JobRun, collection: str, counts: ShardCounts) -> None:
        tenant = run.job.tenant
        table = run.lease.guard(self.table_at(await self.location(tenant)))
        steps = _PageSteps(table, self.entities.tenant_entities_by_type, collection, counts)
        move = ScanPass(
            name="MOVING",
            process=steps.move,
            fence=Fence.for_tenant(tenant),
            table=table.caller.table,
            single_segment=collection in self.entities.collections.in_table_key,
        )
        await repeat_until_clean(run, move, replace(move, name="VERIFYING", process=steps.count_misplaced))

    async def _publish(self, run: JobRun, kind: ReshardKind, collection: str, shards: int) -> None:
        job = run.job

        def changed(tenant: Tenant) -> Tenant:
            run.lease.check()
            counts = counts_of(tenant, collection)
            if counts.job_id != job.id:
                return tenant
            return with_counts(tenant, collection, finish_reshard(counts, kind, shards))

        run.resources.failpoint("before publishing")
        detail = {"collection": collection, "shards": shards, "job": job.id, "moved": job.items_changed}
        self.on_tenant_changed(await self.tenants.change(job.tenant, FINISHED_EVENTS[kind], changed, detail=detail))
        run.resources.failpoint("published")


class MisplacedItem(NamedTuple):
    """An item, and the partition of one of its keys where it should be."""

    item: Item
    entity: Entity[Any]
    key: Index
    sharding: Sharding
    partition: str


def find_misplaced(
    item: Item, entities: EntitiesByType, collection: str, counts: ShardCounts
) -> Iterator[MisplacedItem]:
    """Yields each key of an item that is in the wrong shard. An item of an unknown type has no sharded key."""
    entity = entities.get(item.get("type", {}).get("S", ""))
    if entity is None:
        return
    for index, key in entity.keys.items():
        if key.sharding and key.sharding.collection == collection:
            partition = _right_partition(item, index, key, counts)
            if partition is not None:
                yield MisplacedItem(item, entity, index, key.sharding, partition)


def _right_partition(item: Item, index: Index, key: Key, counts: ShardCounts) -> str | None:
    """Returns the partition that the item should be in, or None if it is there or has no key in this index."""
    stored = item.get(key_names(index).partition)
    if stored is None or key.sharding is None:
        return None
    partition, _, suffix = stored["S"].rpartition("#")
    try:
        current = int(suffix, 16)
        hashed_value = item[attribute_name(key.sharding.hashed_field)]["S"]
        right = shard_of(hashed_value, counts.write_shards)
    except (KeyError, ValueError) as error:
        raise Conflict(
            f"the shard of item {item['PK']['S']} / {item['SK']['S']} of {key.sharding.collection} cannot be computed; "
            "correct the item, then resume the job"
        ) from error
    return f"{partition}#{shard_suffix(right)}" if _must_move(current, right, key.sharding, counts) else None


def _must_move(current: int, right: int, sharding: Sharding, counts: ShardCounts) -> bool:
    """A part of a sum may be in any shard that stays."""
    if counts.move_direction is MoveDirection.DOWN or sharding.summed_field:
        return current >= counts.write_shards
    return current != right


async def move_to_shard(table: Table, misplaced: MisplacedItem, counts: ShardCounts) -> bool:
    """Returns False if the item was changed by another writer meanwhile; the next round finds it again."""
    item, partition, sharding = misplaced.item, misplaced.partition, misplaced.sharding
    if misplaced.key != "table":
        return await update_index_keys(table, item, {key_names(misplaced.key).partition: partition})
    if sharding.summed_field is None:
        return await move_item(table, item, partition)
    shards = ShardMap({sharding.collection: counts})
    return await add_number_and_delete(table, item, partition, misplaced.entity, sharding.summed_field, shards)


@dataclass(frozen=True, slots=True)
class _PageSteps:
    """The functions that the passes call with each page of items."""

    table: Table
    entities: EntitiesByType
    collection: str
    counts: ShardCounts

    async def count_misplaced(self, items: Sequence[Item]) -> PassResult:
        return PassResult(wrong=len(self._find(items)))

    async def move(self, items: Sequence[Item]) -> PassResult:
        found, limit = self._find(items), asyncio.Semaphore(CONCURRENT_MOVES)
        before = self.table.caller.meter.write_units
        outcomes = await asyncio.gather(*(self._move(misplaced, limit) for misplaced in found))
        moved = [misplaced for misplaced, has_moved in zip(found, outcomes, strict=True) if has_moved]
        await self._verify_copies([misplaced for misplaced in moved if _is_copied(misplaced)])
        contended = len(found) - len(moved)
        return PassResult(
            changed=len(moved),
            digest=sum(item_digest(misplaced.item) for misplaced in moved),
            counts={"contended": contended} if contended else {},
            units=max(float(len(found)), self.table.caller.meter.write_units - before),
        )

    def _find(self, items: Sequence[Item]) -> list[MisplacedItem]:
        return [found for item in items for found in find_misplaced(item, self.entities, self.collection, self.counts)]

    async def _move(self, misplaced: MisplacedItem, limit: asyncio.Semaphore) -> bool:
        async with limit:
            return await move_to_shard(self.table, misplaced, self.counts)

    async def _verify_copies(self, moved: Sequence[MisplacedItem]) -> None:
        """Raises Internal if a copy differs from its original and has the same version, so nobody changed it since."""
        expected = {item_key(item): item for item in map(_with_new_key, moved)}
        keys = [{"PK": item["PK"], "SK": item["SK"]} for item in expected.values()]
        for item in await get_many(self.table.caller, keys, consistent=True):
            original = expected[item_key(item)]
            if item["version"] == original["version"] and item_digest(item) != item_digest(original):
                raise Internal(f"{item['PK']['S']} / {item['SK']['S']} is not what it was before it was moved")


def _is_copied(misplaced: MisplacedItem) -> bool:
    """Tells whether moving the item means to write a copy, and not only to change an index key or to add to a sum."""
    return misplaced.key == "table" and misplaced.sharding.summed_field is None


def _with_new_key(misplaced: MisplacedItem) -> Item:
    return {**misplaced.item, key_names(misplaced.key).partition: {"S": misplaced.partition}}
