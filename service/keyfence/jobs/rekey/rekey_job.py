"""`RekeyJob`: corrects the index keys of items, in the shared table and in the tables of single tenants."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

import orjson
import structlog

from keyfence.errors import BadInput, Unauthenticated
from keyfence.jobs.job_record import ALL_TENANTS, Job, JobKind, new_job
from keyfence.jobs.job_runner import JobRun
from keyfence.jobs.rekey.index_keys import UnreadableItem, differing_index_keys, foreign_index_keys
from keyfence.jobs.scan_checkpoint import PassResult
from keyfence.jobs.scan_pass import ScanPass, item_digest, repeat_until_clean, run_pass
from keyfence.store import timestamps
from keyfence.store.codec import Item
from keyfence.store.entity import Entity
from keyfence.store.entity_registry import EntityRegistry
from keyfence.store.job_writes import IndexKeys, remove_index_keys, update_index_keys
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
    """Returns a job for the items of one tenant, or of all tenants if `tenant` is None."""
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
    """The program of a re-key run. Items that it cannot read are counted. It changes them only to remove index keys of
    other tenants."""

    location: Callable[[TenantId], Awaitable[TenantLocation]]
    """Returns where a tenant's items are now. Raises Unauthenticated if the tenant is not registered."""
    table_at: Callable[[TenantLocation], Table]
    fence_of: Callable[[TenantId], Fence]
    tenants_in_silos: Callable[[], Awaitable[Sequence[TenantId]]]
    entities: EntityRegistry

    async def __call__(self, run: JobRun) -> None:
        parameters = orjson.loads(run.job.parameters)
        types = {parameters["type"]} if parameters["type"] else set(self.entities.tenant_entities_by_type)
        targets = await self._targets(run.job.tenant)
        results = [await self._run_on(run, target, types, dry_run=parameters["dryRun"]) for target in targets]
        await run.save(counts=sum(results, start=PassResult()).reported_counts)

    async def _targets(self, tenant: TenantId) -> "list[ScanTarget]":
        if tenant == ALL_TENANTS:
            silos = [replace(self._silo_target(owner), suffix=f"-{owner}") for owner in await self.tenants_in_silos()]
            return [ScanTarget(), *silos]
        if await self._table_access(tenant) is TableAccess.SILO:
            return [self._silo_target(tenant)]
        return [ScanTarget(fence=Fence.for_tenant(tenant))]

    async def _table_access(self, tenant: TenantId) -> TableAccess:
        """Returns which table has the tenant's items: the shared table if the tenant is not registered."""
        try:
            return (await self.location(tenant)).read_from
        except Unauthenticated:
            return TableAccess.POOL

    def _silo_target(self, tenant: TenantId) -> "ScanTarget":
        table = self.table_at(TenantLocation(tenant=tenant, read_from=TableAccess.SILO)).caller.table
        return ScanTarget(access=TableAccess.SILO, fence=Fence.for_tenant(tenant), table=table)

    async def _run_on(self, run: JobRun, target: "ScanTarget", types: set[str], *, dry_run: bool) -> PassResult:
        checker = _KeyChecker(self, types, target.access)
        if dry_run:
            return await run_pass(run, target.limit(ScanPass(name="COUNTING", process=checker.count)))
        change = target.limit(ScanPass(name="CHANGING", process=checker.change))
        verify = target.limit(ScanPass(name="VERIFYING", process=checker.count))
        return await repeat_until_clean(run, change, verify)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanTarget:
    """A table to scan, and which of its items to process."""

    access: TableAccess = TableAccess.POOL
    fence: Fence | None = None
    """Only items inside this fence are processed. None means all items."""
    table: str | None = None
    """The name of the table. None means the shared table."""
    suffix: str = ""
    """Makes the names of the passes unique if a job scans several tables."""

    def limit(self, scan_pass: ScanPass) -> ScanPass:
        """Returns the pass, limited to this table and these items."""
        return replace(scan_pass, name=f"{scan_pass.name}{self.suffix}", fence=self.fence, table=self.table)


class WrongKeys(NamedTuple):
    """An item that has wrong index keys."""

    item: Item
    location: TenantLocation
    right_keys: IndexKeys
    is_unreadable: bool = False
    """Whether the item cannot be read, so that only its index keys of other tenants are wrong."""


@dataclass(frozen=True, slots=True)
class _KeyChecker:
    """Counts or corrects the items with wrong keys, page by page."""

    program: RekeyJob
    types: set[str]
    """Only items of these types are checked."""
    access: TableAccess
    """Only items in this table are checked."""

    async def count(self, items: Sequence[Item]) -> PassResult:
        wrong, skipped = await self._find_wrong(items)
        return PassResult(wrong=len(wrong), counts=skipped)

    async def change(self, items: Sequence[Item]) -> PassResult:
        wrong, skipped = await self._find_wrong(items)
        limit = asyncio.Semaphore(CONCURRENT_CHANGES)
        results = await asyncio.gather(*(self._check_and_update(keys.item, limit) for keys in wrong))
        return sum(results, start=PassResult(counts=skipped))

    async def _check_and_update(self, item: Item, limit: asyncio.Semaphore) -> PassResult:
        """Checks the item again just before the change, since the location of the first check may have expired."""
        async with limit:
            outcome = await self._check(item)
            return await self._update(outcome) if isinstance(outcome, WrongKeys) else PassResult()

    async def _update(self, wrong: WrongKeys) -> PassResult:
        table = self.program.table_at(wrong.location)
        if wrong.is_unreadable:
            is_changed = await remove_index_keys(table, wrong.item, [*wrong.right_keys])
        else:
            is_changed = await update_index_keys(table, wrong.item, wrong.right_keys)
        units = max(1.0, table.caller.meter.units["UpdateItem"])
        if not is_changed:
            return PassResult(counts={"contended": 1}, units=units)
        keys = {name: {"S": value} for name, value in wrong.right_keys.items() if value}
        digest = item_digest({"PK": wrong.item["PK"], "SK": wrong.item["SK"], **keys})
        return PassResult(changed=1, digest=digest, units=units)

    async def _find_wrong(self, items: Sequence[Item]) -> tuple[list[WrongKeys], Counter[str]]:
        """Returns the items with wrong keys, and the numbers of skipped items by reason."""
        outcomes = [await self._check(item) for item in items]
        skipped = Counter(outcome for outcome in outcomes if isinstance(outcome, str))
        return [outcome for outcome in outcomes if isinstance(outcome, WrongKeys)], skipped

    async def _check(self, item: Item) -> WrongKeys | str | None:
        """Returns the wrong keys, or the reason for which the item is skipped.

        Returns None if the keys are right, or if the item is of another type or in another table than is checked."""
        owner, type = tenant_of_partition(item["PK"]["S"]), item.get("type", {}).get("S", "")
        entity = self.program.entities.tenant_entities_by_type.get(type)
        if owner is None or (entity is not None and type not in self.types):
            return None
        try:
            location = await self.program.location(owner)
            if location.read_from is not self.access:
                return None
            _refuse_moving(location)
            return _find_wrong_keys(entity, item, self.program.fence_of(owner), location)
        except Unauthenticated:
            return _skip(item, "ownerless", f"there is no tenant {owner}")
        except UnreadableItem as error:
            return _skip(item, error.reason, str(error))


def _find_wrong_keys(
    entity: Entity[Any] | None, item: Item, fence: Fence, location: TenantLocation
) -> WrongKeys | None:
    """Returns the wrong keys of an item, or None if they are right.

    Raises UnreadableItem if the item cannot be read and has no index key of another tenant."""
    try:
        keys = differing_index_keys(entity, item, fence, location.shards)
        return WrongKeys(item, location, keys) if keys else None
    except UnreadableItem:
        if foreign_keys := foreign_index_keys(item, fence):
            return WrongKeys(item, location, dict.fromkeys(foreign_keys), is_unreadable=True)
        raise


def _refuse_moving(location: TenantLocation) -> None:
    """Raises UnreadableItem if the tenant is being moved.

    Its items are in two tables then, and would have to be changed in both tables in one transaction."""
    if location.also_write_to is not None:
        raise UnreadableItem(f"{location.tenant} is being moved", "moving")


def _skip(item: Item, reason: str, explanation: str) -> str:
    """Logs that an item is skipped. Returns the reason, under which the item is counted."""
    log.info("item_skipped", partition=item["PK"]["S"], sort=item["SK"]["S"], reason=explanation)
    return reason
