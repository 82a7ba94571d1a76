"""The program that corrects the index keys of items, in the shared table and in tables of single tenants."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

import orjson
import structlog

from keyfence.errors import BadInput, Unauthenticated
from keyfence.jobs.job_record import ALL_TENANTS, Job, JobKind, new_job
from keyfence.jobs.job_runner import JobRun
from keyfence.jobs.rekey.index_keys import UnreadableItem, differing_index_keys
from keyfence.jobs.scan_checkpoint import PassResult
from keyfence.jobs.scan_pass import ScanPass, item_digest, repeat_until_clean, run_pass
from keyfence.store import timestamps
from keyfence.store.codec import Item
from keyfence.store.entity_registry import EntityRegistry
from keyfence.store.job_writes import IndexKeys, update_index_keys
from keyfence.store.keys import Fence
from keyfence.store.scan import tenant_of_partition
from keyfence.store.table import Table
from keyfence.store.tenant_location import TenantLocation
from keyfence_iam.sts.session_spec import TableAccess
from keyfence_iam.tenant import TenantId

CONCURRENT_CHANGES = 8
"""How many items of a segment are changed at the same time."""

log = structlog.get_logger(__name__)


def new_rekey_job(
    tenant: TenantId | None,
    entities: EntityRegistry,
    *,
    created_by: str,
    type: str | None = None,
    segments: int = 4,
    dry_run: bool = False,
    now: Callable[[], datetime] = timestamps.utc_now,
) -> Job:
    if type is not None and type not in entities.tenant_entities_by_type:
        raise BadInput(
            f"there is no type {type}; choose one of {', '.join(sorted(entities.tenant_entities_by_type))}",
            field="type",
        )
    return new_job(
        JobKind.REKEY,
        tenant or ALL_TENANTS,
        created_by=created_by,
        created_at=now(),
        segments=segments,
        parameters={"type": type, "dryRun": dry_run},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RekeyJob:
    """The program. It counts items that it cannot read, and does not change them."""

    location: Callable[[TenantId], Awaitable[TenantLocation]]
    """Returns where a tenant's items are now. Raises Unauthenticated if the tenant is not registered."""
    table_at: Callable[[TenantLocation], Table]
    tenants_in_silos: Callable[[], Awaitable[Sequence[TenantId]]]
    entities: EntityRegistry

    async def __call__(self, run: JobRun) -> None:
        parameters = orjson.loads(run.job.parameters)
        types = {parameters["type"]} if parameters["type"] else set(self.entities.tenant_entities_by_type)
        targets = await self._targets(run.job.tenant)
        found = [await self._run_on(run, target, types, dry_run=parameters["dryRun"]) for target in targets]
        await run.save(counts=sum(found, start=PassResult()).reported_counts)

    async def _targets(self, tenant: TenantId) -> "list[ScanTarget]":
        if tenant == ALL_TENANTS:
            silos = [replace(self._silo(owner), suffix=f"-{owner}") for owner in await self.tenants_in_silos()]
            return [ScanTarget(), *silos]
        if await self._table_of(tenant) is TableAccess.SILO:
            return [self._silo(tenant)]
        return [ScanTarget(fence=Fence.for_tenant(tenant))]

    async def _table_of(self, tenant: TenantId) -> TableAccess:
        """Items of a tenant that is not registered can only be in the shared table."""
        try:
            return (await self.location(tenant)).read_from
        except Unauthenticated:
            return TableAccess.POOL

    def _silo(self, tenant: TenantId) -> "ScanTarget":
        table = self.table_at(TenantLocation(tenant=tenant, read_from=TableAccess.SILO)).caller.table
        return ScanTarget(access=TableAccess.SILO, fence=Fence.for_tenant(tenant), table=table)

    async def _run_on(self, run: JobRun, target: "ScanTarget", types: set[str], *, dry_run: bool) -> PassResult:
        steps = _PageSteps(self, types, target.access)
        if dry_run:
            return await run_pass(run, target.narrow(ScanPass(name="COUNTING", process=steps.count)))
        change = target.narrow(ScanPass(name="CHANGING", process=steps.change))
        return await repeat_until_clean(run, change, target.narrow(ScanPass(name="VERIFYING", process=steps.count)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanTarget:
    """A table to scan, the fence of the items that are meant in it, and what is added to the names of passes."""

    access: TableAccess = TableAccess.POOL
    fence: Fence | None = None
    table: str | None = None
    suffix: str = ""

    def narrow(self, scan_pass: ScanPass) -> ScanPass:
        return replace(scan_pass, name=f"{scan_pass.name}{self.suffix}", fence=self.fence, table=self.table)


class WrongKeys(NamedTuple):
    """An item, where it is, and the right values of its key attributes that are wrong."""

    item: Item
    location: TenantLocation
    keys: IndexKeys


@dataclass(frozen=True, slots=True)
class _PageSteps:
    """The functions that the passes call with each page of items."""

    program: RekeyJob
    types: set[str]
    access: TableAccess

    async def count(self, items: Sequence[Item]) -> PassResult:
        wrong, skipped = await self._find_wrong(items)
        return PassResult(wrong=len(wrong), counts=skipped)

    async def change(self, items: Sequence[Item]) -> PassResult:
        wrong, skipped = await self._find_wrong(items)
        limit = asyncio.Semaphore(CONCURRENT_CHANGES)
        changed = await asyncio.gather(*(self._change(found.item, limit) for found in wrong))
        return sum(changed, start=PassResult(counts=skipped))

    async def _change(self, item: Item, limit: asyncio.Semaphore) -> PassResult:
        """Looks up the tenant's table again just before the change: the earlier answer can expire meanwhile."""
        async with limit:
            found = await self._check(item)
            return await self._update(found) if isinstance(found, WrongKeys) else PassResult()

    async def _update(self, wrong: WrongKeys) -> PassResult:
        table = self.program.table_at(wrong.location)
        changed = await update_index_keys(table, wrong.item, wrong.keys)
        units = max(1.0, table.caller.meter.units["UpdateItem"])
        if not changed:
            return PassResult(counts={"contended": 1}, units=units)
        keys = {name: {"S": value} for name, value in wrong.keys.items() if value}
        digest = item_digest({"PK": wrong.item["PK"], "SK": wrong.item["SK"], **keys})
        return PassResult(changed=1, digest=digest, units=units)

    async def _find_wrong(self, items: Sequence[Item]) -> tuple[list[WrongKeys], Counter[str]]:
        """Returns the items with wrong keys, and how many items were skipped for which reason."""
        checked = [await self._check(item) for item in items]
        skipped = Counter(found for found in checked if isinstance(found, str))
        return [found for found in checked if isinstance(found, WrongKeys)], skipped

    async def _check(self, item: Item) -> WrongKeys | str | None:
        """Returns what is wrong, the reason to skip the item, or None if its keys are right or it is not meant."""
        owner, type = tenant_of_partition(item["PK"]["S"]), item.get("type", {}).get("S", "")
        if owner is None or (type in self.program.entities.tenant_entities_by_type and type not in self.types):
            return None
        if type not in self.program.entities.tenant_entities_by_type:
            return _skip(item, "unknown", f"type {type!r}")
        try:
            location = await self.program.location(owner)
            if location.read_from is not self.access:
                return None
            _refuse_moving(location)
            entity = self.program.entities.tenant_entities_by_type[type]
            keys = differing_index_keys(entity, item, Fence.for_tenant(owner), location.shards)
        except Unauthenticated:
            return _skip(item, "ownerless", f"there is no tenant {owner}")
        except UnreadableItem as error:
            return _skip(item, error.reason, str(error))
        return WrongKeys(item, location, keys) if keys else None


def _refuse_moving(location: TenantLocation) -> None:
    """The items of a moving tenant are in two tables, and would have to be changed in both in one transaction."""
    if location.also_write_to is not None:
        raise UnreadableItem(f"{location.tenant} is being moved", "moving")


def _skip(item: Item, reason: str, why: str) -> str:
    log.info("item_skipped", partition=item["PK"]["S"], sort=item["SK"]["S"], reason=why)
    return reason
