"""Reshard states of a collection; begin or continue a reshard."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, NamedTuple

import orjson

from keyfence.errors import BadInput, Conflict, Internal
from keyfence.jobs.job import Job, JobKind, migration_by_id, migrations, new_job
from keyfence.store.expressions import absent
from keyfence.store.shards import ONE_SHARD, MoveDirection, ShardCounts, ShardedCollections
from keyfence.store.writes import Write, put
from keyfence.tenancy.repository import TenantRepository
from keyfence.tenancy.tenant import Tenant, TenantStatus
from keyfence_iam.tenant import TenantId


class ReshardKind(StrEnum):
    """What is done to a collection."""

    GROW = "GROW"
    SHRINK = "SHRINK"
    REBALANCE = "REBALANCE"


BEGUN: Mapping[ReshardKind, str] = {
    ReshardKind.GROW: "shards.growing",
    ReshardKind.SHRINK: "shards.shrinking",
    ReshardKind.REBALANCE: "shards.rebalancing",
}
DONE: Mapping[ReshardKind, str] = {
    ReshardKind.GROW: "shards.grown",
    ReshardKind.SHRINK: "shards.shrunk",
    ReshardKind.REBALANCE: "shards.rebalanced",
}
"""The events."""


def counts_of(tenant: Tenant, collection: str) -> ShardCounts:
    return tenant.shards.get(collection, ONE_SHARD)


def reshard_kind(counts: ShardCounts, shards: int) -> ReshardKind:
    if shards == counts.write_shards:
        return ReshardKind.REBALANCE
    return ReshardKind.GROW if shards > counts.write_shards else ReshardKind.SHRINK


def start_reshard(counts: ShardCounts, shards: int, migration: str) -> ShardCounts:
    """Reads widen before writes, and writes narrow before reads; nothing moves before everybody knows."""
    if counts.job_id is not None:
        raise Conflict(f"another change of these shards, {counts.job_id}, is under way", migration=counts.job_id)
    match reshard_kind(counts, shards):
        case ReshardKind.GROW:
            return replace(counts, read_shards=max(shards, counts.read_shards), job_id=migration)
        case ReshardKind.SHRINK:
            return replace(
                counts,
                write_shards=shards,
                generation=counts.generation + 1,
                former_write_shards=_below(counts, shards),
                move_direction=MoveDirection.DOWN,
                job_id=migration,
            )
        case ReshardKind.REBALANCE:
            return replace(counts, move_direction=MoveDirection.UP, job_id=migration)


def finish_reshard(counts: ShardCounts, way: ReshardKind, shards: int) -> ShardCounts:
    """What may be published when every server certainly goes by what `begun` said, and the mover is done."""
    match way:
        case ReshardKind.GROW:
            former = tuple(sorted({*counts.former_write_shards, counts.write_shards}))
            generation = counts.generation + 1
            return replace(counts, write_shards=shards, generation=generation, former_write_shards=former, job_id=None)
        case ReshardKind.SHRINK:
            return replace(counts, read_shards=shards, move_direction=None, job_id=None)
        case ReshardKind.REBALANCE:
            return replace(counts, former_write_shards=(), move_direction=None, job_id=None)


def with_counts(tenant: Tenant, collection: str, counts: ShardCounts) -> Tenant:
    return replace(tenant, shards={**tenant.shards, collection: counts})


def require_reshardable(tenant: Tenant) -> Tenant:
    """One that leaves, moves, or is not there yet, keeps its shards."""
    if tenant.status not in {TenantStatus.ACTIVE, TenantStatus.SUSPENDED}:
        raise Conflict(f"the tenant is {tenant.status}: its shards cannot be changed")
    if tenant.move is not None:
        raise Conflict(f"the tenant is being moved by {tenant.move.migration}: wait for that")
    return tenant


def _below(counts: ShardCounts, shards: int) -> tuple[int, ...]:
    return tuple(count for count in counts.former_write_shards if count < shards)


SEGMENTS = 4


class ReshardRequest(NamedTuple):
    """What somebody wants of a collection; `rebalance` for its items to be where they belong by as many as it has."""

    collection: str
    shards: int
    rebalance: bool = False

    def is_met_by(self, counts: ShardCounts) -> bool:
        return self.shards == counts.write_shards and not self.rebalance

    def is_that_of(self, migration: Job) -> bool:
        asked = orjson.loads(migration.detail)
        return (self.shards, self.rebalance) == (asked["shards"], asked["way"] == ReshardKind.REBALANCE)


def nobody(_: Job) -> None:
    """Whoever runs the migrator carries it on."""


@dataclass(frozen=True, slots=True)
class StartReshard:
    """Needs the register alone. `told` hears of the tenant as it is from then on, `run_job` of what is to be done."""

    register: TenantRepository
    collections: ShardedCollections
    told: Callable[[Tenant], None] = lambda _: None
    carry_on: Callable[[Job], None] = nobody
    segments: int = SEGMENTS

    async def __call__(self, id: TenantId, collection: str, shards: int, *, rebalance: bool = False) -> ShardCounts:
        """Asked again for the same, it is gone on with; where all is so already, nothing is done."""
        name = self.collections.check(collection)
        wish = ReshardRequest(name, self.collections.check_count(name, shards), rebalance)
        before = counts_of(await self.register.get(id), name)
        if before.job_id is not None:
            self.carry_on(await self._under_way(before.job_id, wish))
            return before
        if wish.is_met_by(before):
            return before
        return await self._begin(id, wish, before)

    async def _under_way(self, id: str, wish: ReshardRequest) -> Job:
        found = await self.register.table.find(migration_by_id, id=id)
        if found is None:
            raise Internal(f"there is no migration {id}")
        if not wish.is_that_of(found):
            words = f"another change of these shards is under way; `keyfence migrate resume {id}` goes on with it"
            raise Conflict(words, migration=id)
        return found

    async def _begin(self, id: TenantId, wish: ReshardRequest, before: ShardCounts) -> ShardCounts:
        way = reshard_kind(before, wish.shards)
        if wish.rebalance and way is not ReshardKind.REBALANCE:
            raise BadInput(f"there are {before.write_shards} shards; rebalance keeps their number", field="shards")
        detail = {"collection": wish.collection, "shards": wish.shards, "way": way}
        made = new_job(
            JobKind.RESHARD, id, by=self.register.by, at=self.register.now(), segments=self.segments, detail=detail
        )

        def changed(tenant: Tenant) -> Tenant:
            if counts_of(require_reshardable(tenant), wish.collection) != before:
                raise Conflict("somebody else has just changed these shards; look at them and ask again")
            return with_counts(tenant, wish.collection, start_reshard(before, wish.shards, made.id))

        async def also() -> Sequence[Write[Any]]:
            return (put(migrations, made, when=absent()),)

        tenant = await self.register.change(
            id, BEGUN[way], changed, detail={**detail, "from": before.write_shards, "migration": made.id}, also=also
        )
        self.told(tenant)
        self.carry_on(made)
        return counts_of(tenant, wish.collection)
