"""The shard counts that servers use during and after a reshard."""

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum

from keyfence.errors import Conflict
from keyfence.store.shards import ONE_SHARD, MoveDirection, ShardCounts
from keyfence.tenancy.tenant import Tenant
from keyfence.tenancy.tenant_events import TenantEventKind
from keyfence.tenancy.tenant_status import TenantStatus


class ReshardKind(StrEnum):
    """How a reshard changes a collection: more shards, fewer shards, or the same number with items spread evenly."""

    GROW = "GROW"
    SHRINK = "SHRINK"
    REBALANCE = "REBALANCE"


STARTED_EVENTS: Mapping[ReshardKind, TenantEventKind] = {
    ReshardKind.GROW: TenantEventKind.SHARDS_GROWING,
    ReshardKind.SHRINK: TenantEventKind.SHARDS_SHRINKING,
    ReshardKind.REBALANCE: TenantEventKind.SHARDS_REBALANCING,
}
FINISHED_EVENTS: Mapping[ReshardKind, TenantEventKind] = {
    ReshardKind.GROW: TenantEventKind.SHARDS_GROWN,
    ReshardKind.SHRINK: TenantEventKind.SHARDS_SHRUNK,
    ReshardKind.REBALANCE: TenantEventKind.SHARDS_REBALANCED,
}


def counts_of(tenant: Tenant, collection: str) -> ShardCounts:
    return tenant.shards.get(collection, ONE_SHARD)


def reshard_kind(counts: ShardCounts, shards: int) -> ReshardKind:
    if shards == counts.write_shards:
        return ReshardKind.REBALANCE
    return ReshardKind.GROW if shards > counts.write_shards else ReshardKind.SHRINK


def start_reshard(counts: ShardCounts, shards: int, job_id: str) -> ShardCounts:
    """Returns the counts that servers use while the reshard runs. Raises Conflict if another job changes them.

    If the collection grows, servers read the new shards before any server writes to them. If it shrinks, servers stop
    writing to the last shards before any server stops reading them."""
    if counts.job_id is not None:
        raise Conflict(f"these shards are already being changed by job {counts.job_id}", job=counts.job_id)
    match reshard_kind(counts, shards):
        case ReshardKind.GROW:
            return replace(counts, read_shards=max(shards, counts.read_shards), job_id=job_id)
        case ReshardKind.SHRINK:
            return replace(
                counts,
                write_shards=shards,
                generation=counts.generation + 1,
                former_write_shards=tuple(count for count in counts.former_write_shards if count < shards),
                move_direction=MoveDirection.DOWN,
                job_id=job_id,
            )
        case ReshardKind.REBALANCE:
            return replace(counts, move_direction=MoveDirection.UP, job_id=job_id)


def finish_reshard(counts: ShardCounts, kind: ReshardKind, shards: int) -> ShardCounts:
    """Returns the counts after the reshard. Store them only when every server uses the counts of `start_reshard`. For
    SHRINK and REBALANCE, all items must be in their shards too."""
    match kind:
        case ReshardKind.GROW:
            return replace(
                counts,
                write_shards=shards,
                generation=counts.generation + 1,
                former_write_shards=tuple(sorted({*counts.former_write_shards, counts.write_shards})),
                job_id=None,
            )
        case ReshardKind.SHRINK:
            return replace(counts, read_shards=shards, move_direction=None, job_id=None)
        case ReshardKind.REBALANCE:
            return replace(counts, former_write_shards=(), move_direction=None, job_id=None)


def with_counts(tenant: Tenant, collection: str, counts: ShardCounts) -> Tenant:
    return replace(tenant, shards={**tenant.shards, collection: counts})


def require_reshardable(tenant: Tenant) -> Tenant:
    """Returns the tenant. Raises Conflict if its shards cannot be changed now."""
    if tenant.status not in {TenantStatus.ACTIVE, TenantStatus.SUSPENDED}:
        raise Conflict(f"the tenant is {tenant.status}: its shards cannot be changed")
    if tenant.move is not None:
        raise Conflict(f"the tenant is being moved by job {tenant.move.job_id}; wait until it is finished")
    return tenant
