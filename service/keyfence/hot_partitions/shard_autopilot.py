"""`Autopilot`: recommends more shards for a hot collection, and starts the reshard if the traffic stays high."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Literal

import structlog

from keyfence.errors import Conflict, KeyfenceError
from keyfence.hot_partitions.hot_partition_finder import HotPartitionReport
from keyfence.hot_partitions.partition_load import WINDOW_SECONDS
from keyfence.hot_partitions.shard_recommendation import CollectionPeak, capped_by_tier, collection_peaks
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
"""How long the traffic must stay high before the collection grows.

After this time, two windows that do not overlap have shown high traffic. A short burst is in one window only."""

RESET_AFTER = timedelta(seconds=WINDOW_SECONDS)
"""If the high traffic was not seen for this long, SUSTAINED_FOR starts again."""

REPEAT_AFTER = timedelta(minutes=10)
"""The pause before the same recommendation is announced again, and before a failed reshard is started again."""

STORE_INTERVAL = timedelta(seconds=WINDOW_SECONDS / 3)
"""How often an unchanged recommendation is stored again. It is shorter than RESET_AFTER, so that SUSTAINED_FOR does not
start again while the traffic stays high."""

RECOMMENDATION_LIFETIME = timedelta(days=1)
"""The age at which DynamoDB deletes a recommendation that is not stored again."""

AUTOPILOT_AUTHOR = "keyfence"
"""The author of the autopilot's events and jobs."""

Mode = Literal["off", "dry-run", "on"]
StartGrowth = Callable[[TenantId, str, int], Awaitable[object]]
"""A function that starts a reshard of a tenant's collection to a number of shards, and does not wait for its end."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardRecommendation:
    """A recommendation to give a collection more shards.

    It is stored again, with a new `updated_at`, while the traffic stays high."""

    tenant: TenantId
    collection: str
    shards: int
    high_traffic_started_at: datetime
    announced_at: datetime
    ttl: int
    created_at: datetime
    updated_at: datetime
    growth_started_at: datetime | None = None
    version: int = 1


recommendations = entity(ShardRecommendation, table=ControlKey("RECOMMENDATION#{tenant}", "COLLECTION#{collection}"))

recommendation_for_collection = recommendations.get()


@dataclass(frozen=True, slots=True)
class RecommendationUpdate:
    """The recommendation after a review, and the actions that the autopilot must take."""

    recommendation: ShardRecommendation
    must_announce: bool
    """Whether an event with the recommendation must be written."""
    must_grow: bool
    must_store: bool = True


def first_recommendation(tenant: TenantId, collection: str, shards: int, now: datetime) -> RecommendationUpdate:
    recommendation = ShardRecommendation(
        tenant=tenant,
        collection=collection,
        shards=shards,
        high_traffic_started_at=now,
        announced_at=now,
        ttl=int((now + RECOMMENDATION_LIFETIME).timestamp()),
        created_at=now,
        updated_at=now,
    )
    return RecommendationUpdate(recommendation, must_announce=True, must_grow=False)


def repeated_recommendation(before: ShardRecommendation, shards: int, now: datetime) -> RecommendationUpdate:
    """Returns the recommendation after a review that found high traffic again.

    A higher number of shards is announced immediately. Growth starts if more shards have been recommended for
    SUSTAINED_FOR, even if their number has changed during that time."""
    is_interrupted = now - before.updated_at > RESET_AFTER
    started_at = now if is_interrupted else before.high_traffic_started_at
    must_announce = shards > before.shards or now - before.announced_at >= REPEAT_AFTER
    is_sustained = now - started_at >= SUSTAINED_FOR
    may_try_growth = before.growth_started_at is None or now - before.growth_started_at >= REPEAT_AFTER
    must_grow = is_sustained and may_try_growth
    after = replace(
        before,
        shards=shards if must_announce else before.shards,
        high_traffic_started_at=started_at,
        announced_at=now if must_announce else before.announced_at,
        growth_started_at=now if must_grow else before.growth_started_at,
        ttl=int((now + RECOMMENDATION_LIFETIME).timestamp()),
        updated_at=now,
        version=before.version + 1,
    )
    must_store = must_announce or must_grow or now - before.updated_at >= STORE_INTERVAL
    return RecommendationUpdate(after, must_announce=must_announce, must_grow=must_grow, must_store=must_store)


@dataclass(frozen=True, slots=True, kw_only=True)
class Autopilot:
    """Reviews hot collections. It only adds shards, and never removes any.

    All servers review the same traffic. The server that stores the recommendation first acts on it. The others get a
    conflict and do nothing. In a dry run, or if `start_growth` is None, events show what the autopilot would do."""

    tenants: TenantRepository
    collections: ShardedCollections
    mode: Mode = "dry-run"
    start_growth: StartGrowth | None = None
    now: Callable[[], datetime] = timestamps.utc_now

    async def review(self, report: HotPartitionReport) -> None:
        for peak in collection_peaks(report.lists, self.collections):
            tenant = await self._find_active_tenant(peak)
            if tenant:
                await self._review_collection(tenant, peak)

    async def _find_active_tenant(self, peak: CollectionPeak) -> Tenant | None:
        """Returns the tenant if it is active. Returns None without reading it if one shard is enough for the peak."""
        if peak.recommended_shards(1) == 1:
            return None
        tenant = await self.tenants.find(peak.tenant)
        return tenant if tenant and tenant.status is TenantStatus.ACTIVE else None

    async def _review_collection(self, tenant: Tenant, peak: CollectionPeak) -> None:
        counts = tenant.shards.get(peak.collection, ONE_SHARD)
        if counts.job_id is not None:
            await self._continue_growth(tenant, peak.collection, counts)
            return
        current = counts.read_shards
        recommended = peak.recommended_shards(current)
        if recommended <= current:
            return
        before = await self.tenants.table.find(
            recommendation_for_collection, tenant=tenant.id, collection=peak.collection
        )
        update = (
            first_recommendation(peak.tenant, peak.collection, recommended, self.now())
            if before is None
            else repeated_recommendation(before, recommended, self.now())
        )
        if not update.must_store:
            return
        target = capped_by_tier(tenant.tier, current, recommended)
        events = self._events(tenant, peak, update, current, recommended, target)
        is_stored = await self._store(before, update, events)
        if is_stored and self._may_grow and update.must_grow and target > current:
            await self._grow(tenant.id, peak.collection, target)

    async def _store(
        self, before: ShardRecommendation | None, update: RecommendationUpdate, events: Sequence[Write[Any]]
    ) -> bool:
        """Stores the recommendation with its events. Returns False if another server was faster."""
        write = (
            put(recommendations, update.recommendation, when=absent())
            if before is None
            else update_model(recommendations, before, update.recommendation)
        )
        try:
            await self.tenants.table.write(write, *events)
        except Conflict:
            return False
        return True

    def _events(
        self,
        tenant: Tenant,
        peak: CollectionPeak,
        update: RecommendationUpdate,
        current: int,
        recommended: int,
        target: int,
    ) -> Sequence[Write[Any]]:
        """Returns the events for this update. `target` is `recommended`, or less if the tier does not allow it."""
        events = []
        detail = {"collection": peak.collection, "from": current, **peak.event_detail}
        if update.must_announce:
            recommendation = {**detail, "to": recommended}
            events.append(self.tenants.event(tenant.id, TenantEventKind.SHARDS_RECOMMENDED, recommendation))
        if update.must_grow and target > current and self._is_dry_run:
            events.append(self.tenants.event(tenant.id, TenantEventKind.SHARDS_WOULD_GROW, {**detail, "to": target}))
        return events

    @property
    def _may_grow(self) -> bool:
        return self.mode == "on" and self.start_growth is not None

    @property
    def _is_dry_run(self) -> bool:
        return self.mode != "off" and not self._may_grow

    async def _continue_growth(self, tenant: Tenant, collection: str, counts: ShardCounts) -> None:
        """Continues a growth that is not finished, since the server that ran it may have ended.

        If that server still runs, it has the lease of the job, and this server changes nothing."""
        if self._may_grow and counts.move_direction is None:
            await self._grow(tenant.id, collection, counts.read_shards)

    async def _grow(self, tenant: TenantId, collection: str, shards: int) -> None:
        """Starts the reshard job. A failure is logged, and the review continues with the next collection."""
        assert self.start_growth is not None
        try:
            await self.start_growth(tenant, collection, shards)
        except KeyfenceError as error:
            log.warning(
                "autopilot_reshard_failed", tenant=tenant, collection=collection, shards=shards, reason=error.message
            )
        except Exception:
            log.exception("autopilot_reshard_failed", tenant=tenant, collection=collection, shards=shards)
