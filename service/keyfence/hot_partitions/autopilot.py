"""`Autopilot`: recommends more shards for a hot collection, and starts the reshard if the need lasts."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Literal

import structlog

from keyfence.errors import Conflict, KeyfenceError
from keyfence.hot_partitions.hot_partition_finder import HotPartitionReport
from keyfence.hot_partitions.partition_load import WINDOW_SECONDS
from keyfence.hot_partitions.shard_recommendation import ShardNeed, capped_by_tier, shard_needs
from keyfence.store import timestamps
from keyfence.store.entity import entity
from keyfence.store.expressions import absent
from keyfence.store.keys import ControlKey
from keyfence.store.shards import ONE_SHARD, ShardCounts, ShardedCollections
from keyfence.store.writes import Write, put, update_model
from keyfence.tenancy.repository import TenantRepository
from keyfence.tenancy.tenant import Tenant
from keyfence.tenancy.tenant_events import TenantEventKind
from keyfence.tenancy.tenant_status import TenantStatus
from keyfence_iam.tenant import TenantId

SUSTAINED_FOR = timedelta(seconds=WINDOW_SECONDS)
"""How long a need must last before growth. Then two windows without a common moment show it, and a burst is over."""

RESET_AFTER = timedelta(seconds=WINDOW_SECONDS)
"""A need that was not seen for this long starts again."""

REPEAT_AFTER = timedelta(minutes=10)
"""The same advice is not repeated, and a failed reshard is not tried again, before this time."""

STORE_INTERVAL = timedelta(seconds=WINDOW_SECONDS / 3)
"""How often an unchanged advice is stored, so that it does not reset."""

TTL = timedelta(days=1)
NAME = "keyfence"
"""The author of the autopilot's events and jobs."""

Mode = Literal["off", "dry-run", "on"]
StartGrowth = Callable[[TenantId, str, int], Awaitable[object]]
"""Starts a reshard of a tenant's collection to this number of shards, and does not wait for its end."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardAdvice:
    """Advice to give a collection more shards.

    The need has lasted since `since`. It was last seen at `updated_at`, and last acted on at `grown_at`."""

    tenant: TenantId
    collection: str
    shards: int
    since: datetime
    advised_at: datetime
    ttl: int
    created_at: datetime
    updated_at: datetime
    grown_at: datetime | None = None
    version: int = 1


advice = entity(ShardAdvice, table=ControlKey("ADVICE#{tenant}", "COLLECTION#{collection}"))

advice_for_collection = advice.get()


@dataclass(frozen=True, slots=True)
class AdviceUpdate:
    """The advice after a review, and what follows: an event, growth, or only that the advice is stored."""

    advice: ShardAdvice
    announce: bool
    grow: bool
    store: bool = True


def first_advice(tenant: TenantId, collection: str, shards: int, now: datetime) -> AdviceUpdate:
    advice = ShardAdvice(
        tenant=tenant,
        collection=collection,
        shards=shards,
        since=now,
        advised_at=now,
        ttl=int((now + TTL).timestamp()),
        created_at=now,
        updated_at=now,
    )
    return AdviceUpdate(advice, announce=True, grow=False)


def repeated_advice(before: ShardAdvice, shards: int, now: datetime) -> AdviceUpdate:
    """Announce a higher number immediately. Grow only if the need, whatever its size, has lasted long enough."""
    since = before.since if now - before.updated_at <= RESET_AFTER else now
    announce = shards > before.shards or now - before.advised_at >= REPEAT_AFTER
    grow = now - since >= SUSTAINED_FOR and (before.grown_at is None or now - before.grown_at >= REPEAT_AFTER)
    after = replace(
        before,
        shards=shards if announce else before.shards,
        since=since,
        advised_at=now if announce else before.advised_at,
        grown_at=now if grow else before.grown_at,
        ttl=int((now + TTL).timestamp()),
        updated_at=now,
        version=before.version + 1,
    )
    store = announce or grow or now - before.updated_at >= STORE_INTERVAL
    return AdviceUpdate(after, announce=announce, grow=grow, store=store)


@dataclass(frozen=True, slots=True, kw_only=True)
class Autopilot:
    """Reviews hot collections. It only adds shards.

    All servers review the same traffic. The one that stores the advice first acts on it; the others get a conflict.
    In a dry run, and without `grow`, events say what the autopilot would do."""

    tenants: TenantRepository
    collections: ShardedCollections
    mode: Mode = "dry-run"
    grow: StartGrowth | None = None
    now: Callable[[], datetime] = timestamps.utc_now

    async def review(self, report: HotPartitionReport) -> None:
        for need in shard_needs(report.lists, self.collections):
            tenant = await self._find_tenant(need)
            if tenant:
                await self._review(tenant, need)

    async def _find_tenant(self, need: ShardNeed) -> Tenant | None:
        """Return the tenant if it is active. It is not read at all if one shard is enough for the need."""
        if need.recommended(1) == 1:
            return None
        tenant = await self.tenants.find(need.tenant)
        return tenant if tenant and tenant.status is TenantStatus.ACTIVE else None

    async def _review(self, tenant: Tenant, need: ShardNeed) -> None:
        counts = tenant.shards.get(need.collection, ONE_SHARD)
        if counts.job_id is not None:
            await self._continue_growth(tenant, need.collection, counts)
            return
        shards = need.recommended(counts.read_shards)
        if shards <= counts.read_shards:
            return
        before = await self.tenants.table.find(advice_for_collection, tenant=tenant.id, collection=need.collection)
        update = (
            first_advice(need.tenant, need.collection, shards, self.now())
            if before is None
            else repeated_advice(before, shards, self.now())
        )
        if not update.store:
            return
        target = capped_by_tier(tenant.tier, counts.read_shards, shards)
        events = self._events(tenant, need, update, counts.read_shards, shards, target)
        if await self._store(before, update, events) and self._may_grow and update.grow and target > counts.read_shards:
            await self._start_growth(tenant.id, need.collection, target)

    async def _store(self, before: ShardAdvice | None, update: AdviceUpdate, events: Sequence[Write[Any]]) -> bool:
        """Store the advice with its events. Returns False if another server was first."""
        write = (
            put(advice, update.advice, when=absent()) if before is None else update_model(advice, before, update.advice)
        )
        try:
            await self.tenants.table.write(write, *events)
        except Conflict:
            return False
        return True

    def _events(
        self, tenant: Tenant, need: ShardNeed, update: AdviceUpdate, current: int, recommended: int, target: int
    ) -> Sequence[Write[Any]]:
        events = []
        detail = {"collection": need.collection, "from": current, **need.peak}
        if update.announce:
            events.append(
                self.tenants.event(tenant.id, TenantEventKind.SHARDS_RECOMMENDED, {**detail, "to": recommended})
            )
        if update.grow and target > current and self._is_dry_run:
            events.append(self.tenants.event(tenant.id, TenantEventKind.SHARDS_WOULD_GROW, {**detail, "to": target}))
        return events

    @property
    def _may_grow(self) -> bool:
        return self.mode == "on" and self.grow is not None

    @property
    def _is_dry_run(self) -> bool:
        return self.mode != "off" and not self._may_grow

    async def _continue_growth(self, tenant: Tenant, collection: str, counts: ShardCounts) -> None:
        """Continue a growth whose server may have ended. A server that still runs it keeps its lease."""
        if self._may_grow and counts.move_direction is None:
            await self._start_growth(tenant.id, collection, counts.read_shards)

    async def _start_growth(self, tenant: TenantId, collection: str, shards: int) -> None:
        """Start the reshard, which then runs as a job. A failure is logged, and the review of other needs goes on."""
        assert self.grow is not None
        try:
            await self.grow(tenant, collection, shards)
        except KeyfenceError as error:
            log.warning(
                "autopilot_reshard_failed", tenant=tenant, collection=collection, shards=shards, reason=error.message
            )
        except Exception:
            log.exception("autopilot_reshard_failed", tenant=tenant, collection=collection, shards=shards)
