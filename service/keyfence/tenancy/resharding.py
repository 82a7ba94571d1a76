"""The steps by which a collection gets more slots, fewer, or its items where they belong; each is a new map."""

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum

from keyfence.errors import BadInput, Conflict
from keyfence.store.shards import LIMIT, Moving, ShardCounts
from keyfence.tenancy.lifecycle import TenantStatus
from keyfence.tenancy.model import Tenant
from keyfence.tenancy.shard_counts import COLLECTIONS, every_collection

MOST: Mapping[str, int] = {"counters": 100}
"""Of these a moment's state is read in one transaction, which takes 100 items."""

OWN_KEY = frozenset({"activity", "counters"})
"""Here the slot is in the item's own key: what moves is taken from one place and put into another."""


class Way(StrEnum):
    """What is done to a collection."""

    GROW = "GROW"
    SHRINK = "SHRINK"
    REBALANCE = "REBALANCE"


BEGUN: Mapping[Way, str] = {
    Way.GROW: "shards.growing",
    Way.SHRINK: "shards.shrinking",
    Way.REBALANCE: "shards.rebalancing",
}
DONE: Mapping[Way, str] = {
    Way.GROW: "shards.grown",
    Way.SHRINK: "shards.shrunk",
    Way.REBALANCE: "shards.rebalanced",
}
"""The events."""


def checked_collection(name: str) -> str:
    if name not in COLLECTIONS:
        raise BadInput(f"collection must be one of {', '.join(COLLECTIONS)}", field="collection")
    return name


def most_of(collection: str) -> int:
    return MOST.get(collection, LIMIT)


def checked_shards(collection: str, shards: int) -> int:
    most = most_of(collection)
    if not 1 <= shards <= most:
        raise BadInput(f"{collection} can have 1 to {most} shards", field="shards")
    return shards


def counts_of(tenant: Tenant, collection: str) -> ShardCounts:
    return every_collection(tenant.shards)[collection]


def way_to(counts: ShardCounts, shards: int) -> Way:
    if shards == counts.write_shards:
        return Way.REBALANCE
    return Way.GROW if shards > counts.write_shards else Way.SHRINK


def begun(counts: ShardCounts, shards: int, migration: str) -> ShardCounts:
    """Reads widen before writes, and writes narrow before reads; nothing moves before everybody knows."""
    if counts.migration is not None:
        raise Conflict(f"another change of these shards, {counts.migration}, is under way", migration=counts.migration)
    match way_to(counts, shards):
        case Way.GROW:
            return replace(counts, read_shards=max(shards, counts.read_shards), migration=migration)
        case Way.SHRINK:
            return replace(
                counts,
                write_shards=shards,
                generation=counts.generation + 1,
                former=_below(counts, shards),
                moving=Moving.DOWN,
                migration=migration,
            )
        case Way.REBALANCE:
            return replace(counts, moving=Moving.UP, migration=migration)


def ended(counts: ShardCounts, way: Way, shards: int) -> ShardCounts:
    """What may be published when every server certainly goes by what `begun` said, and the mover is done."""
    match way:
        case Way.GROW:
            former = tuple(sorted({*counts.former, counts.write_shards}))
            generation = counts.generation + 1
            return replace(counts, write_shards=shards, generation=generation, former=former, migration=None)
        case Way.SHRINK:
            return replace(counts, read_shards=shards, moving=None, migration=None)
        case Way.REBALANCE:
            return replace(counts, former=(), moving=None, migration=None)


def with_counts(tenant: Tenant, collection: str, counts: ShardCounts) -> Tenant:
    return replace(tenant, shards={**tenant.shards, collection: counts})


def reshardable(tenant: Tenant) -> Tenant:
    """One that leaves, moves, or is not there yet, keeps its slots."""
    if tenant.status not in {TenantStatus.ACTIVE, TenantStatus.SUSPENDED}:
        raise Conflict(f"the tenant is {tenant.status}: its shards cannot be changed")
    if tenant.move is not None:
        raise Conflict(f"the tenant is being moved by {tenant.move.migration}: wait for that")
    return tenant


def _below(counts: ShardCounts, shards: int) -> tuple[int, ...]:
    return tuple(count for count in counts.former if count < shards)
