"""`TenantEvent`: a change of a tenant, stored for operators. `TenantEventKind`: all kinds of such events."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NewType

import orjson

from keyfence.store.ids import new_id
from keyfence_iam.tenant import TenantId

EventId = NewType("EventId", str)


class TenantEventKind(StrEnum):
    """The kinds of events. The page docs/reference/tenant-events.md is generated from this table."""

    description: str

    REGISTERED = "tenant.registered", "The tenant's id and issuer were reserved. The tenant is not served yet."
    ONBOARDED = "tenant.onboarded", "The owner was stored. The tenant is active."
    ADDED = "tenant.added", "The tenant was added without an issuer of its own, as the demo tenants are."
    RENAMED = "tenant.renamed", "The name changed."
    TIER_CHANGED = "tenant.tier_changed", "The tier changed."
    QUOTAS_CHANGED = "tenant.quotas_changed", "Quotas were set for this tenant. They replace the quotas of its tier."
    ISSUER_KEYS_CHANGED = "tenant.issuer_keys_changed", "The keys of the tenant's issuer changed."
    ORIGINS_CHANGED = "tenant.origins_changed", "The origins of web pages that may call the API for the tenant changed."
    ISSUER_MAPPING_CHANGED = (
        "tenant.issuer_mapping_changed",
        "The claim mapping of the tenant's issuer changed. The detail has the mapping.",
    )
    SUSPENDED = "tenant.suspended", "The tenant was suspended. The detail has the reason."
    RESUMED = "tenant.resumed", "The tenant is active again."
    MOVE_PLANNED = "tenant.move_planned", "A move to another table began. The detail has the placement and the job."
    MOVE_DUAL_WRITE = "tenant.move_dual_write", "Servers write to both tables."
    MOVE_BACKFILL = "tenant.move_backfill", "The job copies all items. It does so again if the tables differed."
    MOVE_SHADOW_READ = "tenant.move_shadow_read", "Servers read both tables and compare the items."
    MOVE_SWITCHED = "tenant.move_switched", "Servers read the new table."
    MOVE_CLEARING = "tenant.move_clearing", "The placement changed. The job deletes the items of the old table."
    MOVED = "tenant.moved", "The move is finished."
    MOVE_CANCELLED = "tenant.move_cancelled", "An operator cancelled the move."
    MOVE_ROLLED_BACK = (
        "tenant.move_rolled_back",
        "One step of a cancelled move was undone. After the last of these events the cancelled move is finished.",
    )
    SHARDS_RECOMMENDED = (
        "shards.recommended",
        "A collection needs more shards. The detail has their number and the peak load.",
    )
    SHARDS_WOULD_GROW = "shards.would_grow", "The autopilot would have added shards, but it only observes."
    SHARDS_GROWING = "shards.growing", "A collection gets more shards. The detail has their number and the job."
    SHARDS_GROWN = "shards.grown", "The collection has the larger number of shards."
    SHARDS_SHRINKING = "shards.shrinking", "A collection gets fewer shards. The detail has their number and the job."
    SHARDS_SHRUNK = "shards.shrunk", "The collection has the smaller number of shards."
    SHARDS_REBALANCING = "shards.rebalancing", "The job moves older items of a collection to their shards."
    SHARDS_REBALANCED = "shards.rebalanced", "All items of the collection are in their shards."
    OFFBOARDING = "tenant.offboarding", "The offboarding began. The detail has the job."
    OFFBOARDED = "tenant.offboarded", "All items are purged. The detail has the numbers of exported and purged items."

    def __new__(cls, name: str, description: str) -> "TenantEventKind":
        kind = str.__new__(cls, name)
        kind._value_, kind.description = name, description
        return kind


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantEvent:
    """A change of a tenant. `detail` is a JSON object. It never contains items of the tenant."""

    id: EventId
    tenant: TenantId
    kind: TenantEventKind
    by: str
    """The subject of the operator who caused the event, or `keyfence` for the service itself."""
    detail: str
    created_at: datetime
    updated_at: datetime
    version: int = 1


def new_event(
    tenant: TenantId, kind: TenantEventKind, *, by: str, at: datetime, detail: Mapping[str, object]
) -> TenantEvent:
    return TenantEvent(
        id=EventId(new_id("tev")),
        tenant=tenant,
        kind=kind,
        by=by,
        detail=orjson.dumps(detail, default=str).decode(),
        created_at=at,
        updated_at=at,
    )
