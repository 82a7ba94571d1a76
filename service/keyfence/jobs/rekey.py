"""Index keys derived anew (index backfill).

For an index that was added to an entity, or whose template changed, after items were written."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

import orjson
import structlog

from keyfence.errors import BadInput, Unauthenticated
from keyfence.jobs.job import EVERY_TENANT, Job, JobKind, new_job
from keyfence.jobs.runner import JobRun
from keyfence.jobs.scan_pass import PassResult, ScanPass, item_digest
from keyfence.store import timestamps
from keyfence.store.codec import Item
from keyfence.store.entities import Entities
from keyfence.store.entity import INDEXES, Entity, Index, key_names
from keyfence.store.item_writes import IndexKeys, update_index_keys
from keyfence.store.keys import Fence, Key, KeyPair
from keyfence.store.scan import tenant_of_partition
from keyfence.store.shards import ShardMap, shard_suffix
from keyfence.store.table import Table
from keyfence.store.tenant_location import TenantLocation
from keyfence_iam.sts.session_spec import TableAccess
from keyfence_iam.tenant import TenantId


class UnreadableItem(Exception):
    """An item that is not what its type says, and that only somebody who looks at it can put right."""

    def __init__(self, message: str, reason: str = "unreadable") -> None:
        super().__init__(message)
        self.reason = reason


def differing_index_keys(entity: Entity[Any], item: Item, fence: Fence, shards: ShardMap) -> dict[str, str | None]:
    """Those that differ, with what they should be."""
    try:
        model = entity.from_item(item)
        pairs = {index: entity.key_pair(index, model, fence, shards) for index in entity.keys}
        int(item["version"]["N"])
    except Exception as error:
        raise UnreadableItem(f"{type(error).__name__}: {error}") from error
    if pairs["table"] is None or _kept(entity.keys["table"], pairs["table"], item, "table", shards) != _held(item):
        raise UnreadableItem("it is not where its type is kept")
    wanted = [_wanted(entity, index, pairs.get(index), item, shards) for index in INDEXES]
    return {name: value for keys in wanted for name, value in keys.items() if _text(item, name) != value}


def _wanted(entity: Entity[Any], index: Index, pair: KeyPair | None, item: Item, shards: ShardMap) -> IndexKeys:
    names = key_names(index)
    if pair is None:
        return {names.partition: None, names.sort: None}
    kept = _kept(entity.keys[index], pair, item, index, shards)
    return {names.partition: kept.partition, names.sort: kept.sort}


def _kept(key: Key, pair: KeyPair, item: Item, index: Index, shards: ShardMap) -> KeyPair:
    """An item that is in another shard than a new item would be stays there, as long as reads cover that shard."""
    stored = _text(item, key_names(index).partition)
    if key.shard is None or stored is None:
        return pair
    plain, _, suffix = stored.rpartition("#")
    same = plain == pair.partition.rpartition("#")[0]
    return KeyPair(stored, pair.sort) if same and suffix in _shard_suffixes(key.shard.collection, shards) else pair


def _shard_suffixes(collection: str, shards: ShardMap) -> frozenset[str]:
    return frozenset(shard_suffix(shard) for shard in range(shards.counts_of(collection).read_shards))


def _held(item: Item) -> KeyPair:
    return KeyPair(item["PK"]["S"], item["SK"]["S"])


def _text(item: Item, name: str) -> str | None:
    return item[name]["S"] if name in item else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanTarget:
    """A table, the items in it that are meant, and what a pass over them is called besides its own name."""

    at: TableAccess = TableAccess.POOL
    inside: Fence | None = None
    table: str | None = None
    called: str = ""

    def over(self, one: ScanPass) -> ScanPass:
        return replace(one, name=f"{one.name}{self.called}", inside=self.inside, table=self.table)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanTargets:
    """By what the register says when it is asked."""

    location: Callable[[TenantId], Awaitable[TenantLocation]]
    as_tenant: Callable[[TenantLocation], Table]
    silos: Callable[[], Awaitable[Sequence[TenantId]]]

    async def of(self, whose: TenantId) -> list[ScanTarget]:
        if whose != EVERY_TENANT:
            silo = await self._reads(whose) is TableAccess.SILO
            return [self._own(whose) if silo else ScanTarget(inside=Fence.for_tenant(whose))]
        return [ScanTarget(), *(replace(self._own(one), called=f"-{one}") for one in await self.silos())]

    async def _reads(self, whose: TenantId) -> TableAccess:
        """Who is not registered has nothing but what lies among the others'."""
        try:
            return (await self.location(whose)).read_from
        except Unauthenticated:
            return TableAccess.POOL

    def _own(self, whose: TenantId) -> ScanTarget:
        table = self.as_tenant(TenantLocation(tenant=whose, read_from=TableAccess.SILO)).caller.table
        return ScanTarget(at=TableAccess.SILO, inside=Fence.for_tenant(whose), table=table)


AT_ONCE = 8
"""How many items of a segment are changed at the same time."""

log = structlog.get_logger(__name__)


def new_rekey_job(
    tenant: TenantId | None,
    entities: Entities,
    *,
    by: str,
    type: str | None = None,
    segments: int = 4,
    dry_run: bool = False,
    now: Callable[[], datetime] = timestamps.utc_now,
) -> Job:
    if type is not None and type not in entities.of_tenants:
        raise BadInput(f"there is no type {type}; there are {', '.join(sorted(entities.of_tenants))}", field="type")
    detail = {"type": type, "dryRun": dry_run}
    return new_job(JobKind.KEYS, tenant or EVERY_TENANT, by=by, at=now(), segments=segments, detail=detail)


class WrongKeys(NamedTuple):
    """An item whose keys are not what they should be, and what they should be."""

    item: Item
    location: TenantLocation
    keys: IndexKeys


@dataclass(frozen=True, slots=True, kw_only=True)
class RekeyJob:
    """The program. Items that it does not understand are counted, and not touched."""

    location: Callable[[TenantId], Awaitable[TenantLocation]]
    """Where a tenant's items are by now; Unauthenticated of a tenant that is not registered."""
    as_tenant: Callable[[TenantLocation], Table]
    silos: Callable[[], Awaitable[Sequence[TenantId]]]
    """Who has a table of its own."""
    entities: Entities

    async def __call__(self, run: JobRun) -> None:
        asked = orjson.loads(run.migration.detail)
        types = {asked["type"]} if asked["type"] else set(self.entities.of_tenants)
        places = await ScanTargets(location=self.location, as_tenant=self.as_tenant, silos=self.silos).of(
            run.migration.tenant
        )
        found = [await self._over(run, place, types, count_only=asked["dryRun"]) for place in places]
        await run.keep(counts=sum(found, start=PassResult()).told)

    async def _over(self, run: JobRun, place: ScanTarget, types: set[str], *, count_only: bool) -> PassResult:
        steps = _Steps(self, types, place.at)
        if count_only:
            return await run.over(place.over(ScanPass(name="COUNTING", step=steps.count)))
        change, verify = ScanPass(name="DERIVING", step=steps.change), ScanPass(name="VERIFYING", step=steps.count)
        return await run.until_right(place.over(change), place.over(verify))


@dataclass(frozen=True, slots=True)
class _Steps:
    """What is done to a page."""

    given: RekeyJob
    types: set[str]
    at: TableAccess

    async def count(self, items: Sequence[Item]) -> PassResult:
        wrong, others = await self._sorted(items)
        return PassResult(wrong=len(wrong), counts=others)

    async def change(self, items: Sequence[Item]) -> PassResult:
        wrong, others = await self._sorted(items)
        turns = asyncio.Semaphore(AT_ONCE)
        done = await asyncio.gather(*(self._change(one.item, turns) for one in wrong))
        return sum(done, start=PassResult(counts=others))

    async def _change(self, item: Item, turns: asyncio.Semaphore) -> PassResult:
        """By where the tenant's items are when it is this one's turn: a page can take longer than that is known for."""
        async with turns:
            found = await self._look(item)
            return await self._rekey(found) if isinstance(found, WrongKeys) else PassResult()

    async def _rekey(self, one: WrongKeys) -> PassResult:
        table = self.given.as_tenant(one.location)
        changed = await update_index_keys(table, one.item, one.keys)
        units = max(1.0, table.caller.meter.units["UpdateItem"])
        if not changed:
            return PassResult(counts={"contended": 1}, units=units)
        keys = {name: {"S": value} for name, value in one.keys.items() if value}
        return PassResult(
            changed=1, digest=item_digest({"PK": one.item["PK"], "SK": one.item["SK"], **keys}), units=units
        )

    async def _sorted(self, items: Sequence[Item]) -> tuple[list[WrongKeys], Counter[str]]:
        """Those that are wrong, and how many of the others are not understood, and why."""
        looked = [await self._look(item) for item in items]
        reasons = Counter(one for one in looked if isinstance(one, str))
        return [one for one in looked if isinstance(one, WrongKeys)], reasons

    async def _look(self, item: Item) -> WrongKeys | str | None:
        owner, type = tenant_of_partition(item["PK"]["S"]), item.get("type", {}).get("S", "")
        if owner is None or (type in self.given.entities.of_tenants and type not in self.types):
            return None
        if type not in self.given.entities.of_tenants:
            return _passed_over(item, "unknown", f"type {type!r}")
        try:
            location = await self.given.location(owner)
            if location.read_from is not self.at:
                return None
            _refuse_moving(location)
            keys = differing_index_keys(
                self.given.entities.of_tenants[type], item, Fence.for_tenant(owner), location.shards
            )
        except Unauthenticated:
            return _passed_over(item, "ownerless", f"there is no tenant {owner}")
        except UnreadableItem as error:
            return _passed_over(item, error.reason, str(error))
        return WrongKeys(item, location, keys) if keys else None


def _refuse_moving(location: TenantLocation) -> None:
    """What is in two tables would have to be changed in both at once."""
    if location.also_write_to is not None:
        raise UnreadableItem(f"{location.tenant} is being moved", "moving")


def _passed_over(item: Item, reason: str, why: str) -> str:
    log.info("item_passed_over", partition=item["PK"]["S"], sort=item["SK"]["S"], why=why)
    return reason
