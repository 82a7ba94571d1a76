"""Advice as events, automatic growth, how long advice must hold."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Literal

import structlog

from keyfence.errors import Conflict, KeyfenceError
from keyfence.hot_partitions.fleet import ShardAdvice, advice, advice_for_collection
from keyfence.hot_partitions.hottest import HotPartitionReport
from keyfence.hot_partitions.partition_load import WINDOW
from keyfence.hot_partitions.recommendation import ShardNeed, capped_by_tier, needs
from keyfence.store import timestamps
from keyfence.store.expressions import absent
from keyfence.store.shards import ONE_SHARD, ShardCounts, ShardedCollections
from keyfence.store.writes import Write, put, update_model
from keyfence.tenancy.repository import TenantRepository
from keyfence.tenancy.tenant import Tenant, TenantStatus
from keyfence_iam.tenant import TenantId

SUSTAINED_FOR = timedelta(seconds=WINDOW)
"""Two windows in a row that have no moment in common say the same: a burst is over by then."""

RESET_AFTER = timedelta(seconds=WINDOW)
"""Not seen for longer than this, it begins anew."""

REPEAT_AFTER = timedelta(minutes=10)
"""The same is not told, or tried, again before."""

BETWEEN = timedelta(seconds=WINDOW / 3)
"""So often is written down that it is still true."""

KEPT = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class AdviceUpdate:
    """What is known after a look, and what it calls for; `worth` the writing if anything."""

    after: ShardAdvice
    advise: bool
    grow: bool
    worth: bool = True


def first_seen(tenant: TenantId, collection: str, shards: int, now: datetime) -> AdviceUpdate:
    made = ShardAdvice(
        tenant=tenant,
        collection=collection,
        shards=shards,
        since=now,
        advised_at=now,
        ttl=int((now + KEPT).timestamp()),
        created_at=now,
        updated_at=now,
    )
    return AdviceUpdate(made, advise=True, grow=False)


def seen_again(before: ShardAdvice, shards: int, now: datetime) -> AdviceUpdate:
    """More than was advised is news at once; growth waits until it has lasted, whatever its size."""
    since = before.since if now - before.updated_at <= RESET_AFTER else now
    advise = shards > before.shards or now - before.advised_at >= REPEAT_AFTER
    grow = now - since >= SUSTAINED_FOR and (before.grown_at is None or now - before.grown_at >= REPEAT_AFTER)
    after = replace(
        before,
        shards=shards if advise else before.shards,
        since=since,
        advised_at=now if advise else before.advised_at,
        grown_at=now if grow else before.grown_at,
        ttl=int((now + KEPT).timestamp()),
        updated_at=now,
        version=before.version + 1,
    )
    return AdviceUpdate(after, advise=advise, grow=grow, worth=advise or grow or now - before.updated_at >= BETWEEN)


Mode = Literal["off", "dry-run", "on"]

NAME = "keyfence"
"""In whose name it advises and grows."""

log = structlog.get_logger(__name__)


Grow = Callable[[TenantId, str, int], Awaitable[object]]
"""Has a collection of a tenant get so many slots."""


@dataclass(slots=True, kw_only=True)
class Autopilot:
    """Every server looks. Of those who see the same, the one whose write of it comes first acts, and no other.

    Without a way to grow, it says what it would have done. Slots never become fewer."""

    register: TenantRepository
    collections: ShardedCollections
    mode: Mode = "dry-run"
    grow: Grow | None = None
    now: Callable[[], datetime] = timestamps.utc_now
    _growing: "set[asyncio.Task[None]]" = field(default_factory=set)

    async def look(self, hot: HotPartitionReport) -> None:
        for need in needs(hot.lists, self.collections):
            tenant = await self._find(need)
            if tenant:
                await self._attend(tenant, need)

    async def stop(self) -> None:
        """What is under way can be taken up by another."""
        for task in self._growing:
            task.cancel()
        await asyncio.gather(*self._growing, return_exceptions=True)

    async def _find(self, need: ShardNeed) -> Tenant | None:
        """Nobody is asked about those whose lists are far from full with one slot."""
        if need.recommended(1) == 1:
            return None
        tenant = await self.register.find(need.tenant)
        return tenant if tenant and tenant.status is TenantStatus.ACTIVE else None

    async def _attend(self, tenant: Tenant, need: ShardNeed) -> None:
        counts = tenant.shards.get(need.collection, ONE_SHARD)
        wanted = need.recommended(counts.read_shards)
        if counts.job_id is not None:
            self._go_on(tenant, need.collection, counts)
        if wanted <= counts.read_shards or counts.job_id is not None:
            return
        before = await self.register.table.find(advice_for_collection, tenant=tenant.id, collection=need.collection)
        turn = self._turn(before, need, wanted)
        if turn.worth and await self._won(before, turn, self._events(tenant, need, counts, turn, wanted)):
            self._act(tenant, need, counts, turn, wanted)

    def _turn(self, before: ShardAdvice | None, need: ShardNeed, wanted: int) -> AdviceUpdate:
        if before is None:
            return first_seen(need.tenant, need.collection, wanted, self.now())
        return seen_again(before, wanted, self.now())

    async def _won(self, before: ShardAdvice | None, turn: AdviceUpdate, events: Sequence[Write[Any]]) -> bool:
        kept = put(advice, turn.after, when=absent()) if before is None else update_model(advice, before, turn.after)
        try:
            await self.register.table.write(kept, *events)
        except Conflict:
            return False
        return True

    def _events(
        self, tenant: Tenant, need: ShardNeed, counts: ShardCounts, turn: AdviceUpdate, wanted: int
    ) -> Sequence[Write[Any]]:
        found = []
        told = {"collection": need.collection, "from": counts.read_shards, **need.peak}
        if turn.advise:
            found.append(self.register.event(tenant.id, "shards.advised", {**told, "to": wanted}))
        target = capped_by_tier(tenant.tier, counts.read_shards, wanted)
        if turn.grow and target > counts.read_shards and self._is_dry:
            found.append(self.register.event(tenant.id, "shards.would_grow", {**told, "to": target}))
        return found

    @property
    def _is_dry(self) -> bool:
        return self.mode == "dry-run" or (self.mode == "on" and self.grow is None)

    def _go_on(self, tenant: Tenant, collection: str, counts: ShardCounts) -> None:
        """Growth whose server has ended waits for somebody; who is at it is not disturbed."""
        if self.mode == "on" and self.grow and counts.move_direction is None:
            self._start(self._grown(self.grow, tenant.id, collection, counts.read_shards))

    def _start(self, growth: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(growth)
        self._growing.add(task)
        task.add_done_callback(self._growing.discard)

    def _act(self, tenant: Tenant, need: ShardNeed, counts: ShardCounts, turn: AdviceUpdate, wanted: int) -> None:
        target = capped_by_tier(tenant.tier, counts.read_shards, wanted)
        if self.mode == "on" and self.grow and turn.grow and target > counts.read_shards:
            self._start(self._grown(self.grow, tenant.id, need.collection, target))

    async def _grown(self, grow: Grow, tenant: TenantId, collection: str, shards: int) -> None:
        """It takes longer than from look to look, and nobody waits for it."""
        try:
            await grow(tenant, collection, shards)
        except KeyfenceError as error:
            log.warning(
                "autopilot_reshard_failed", tenant=tenant, collection=collection, shards=shards, reason=error.message
            )
        except Exception:
            log.exception("autopilot_reshard_failed", tenant=tenant, collection=collection, shards=shards)
