"""`Tenant`: its status, its placement and the move to another one. `TenantEvent`: what happened to it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import NewType

import orjson

from keyfence.errors import Conflict
from keyfence.store.ids import new_id
from keyfence.store.shards import ShardCounts
from keyfence.tenancy.quotas import NO_OVERRIDES, QuotaOverrides, Quotas, Tier, quotas_of
from keyfence.validation import checked_line
from keyfence_iam.tenant import TenantId


class TenantStatus(StrEnum):
    """The life cycle of a tenant. Only an ACTIVE tenant is served."""

    PROVISIONING = "PROVISIONING"
    ACTIVE = "ACTIVE"
    SUSPENDED = "SUSPENDED"
    OFFBOARDING = "OFFBOARDING"
    OFFBOARDED = "OFFBOARDED"


TRANSITIONS: Mapping[TenantStatus, frozenset[TenantStatus]] = {
    TenantStatus.PROVISIONING: frozenset({TenantStatus.ACTIVE, TenantStatus.OFFBOARDING}),
    TenantStatus.ACTIVE: frozenset({TenantStatus.SUSPENDED, TenantStatus.OFFBOARDING}),
    TenantStatus.SUSPENDED: frozenset({TenantStatus.ACTIVE, TenantStatus.OFFBOARDING}),
    TenantStatus.OFFBOARDING: frozenset({TenantStatus.OFFBOARDED}),
    TenantStatus.OFFBOARDED: frozenset(),
}


def check_transition(before: TenantStatus, after: TenantStatus) -> None:
    if after not in TRANSITIONS[before]:
        allowed = sorted(TRANSITIONS[before])
        ways = f"it can become {' or '.join(allowed)}" if allowed else "that is the end"
        raise Conflict(f"the tenant is {before} and cannot become {after}: {ways}", allowed=allowed)


class Placement(StrEnum):
    """Which table has a tenant's items: the shared one (POOL), or one of its own (SILO)."""

    POOL = "POOL"
    SILO = "SILO"

    @property
    def other(self) -> "Placement":
        return Placement.POOL if self is Placement.SILO else Placement.SILO


class MovePhase(StrEnum):
    """The phases of a move. Servers that still use one phase and servers that use the next work together correctly."""

    PLAN = "PLAN"
    DUAL = "DUAL"
    BACKFILL = "BACKFILL"
    SHADOW = "SHADOW"
    SWITCHED = "SWITCHED"
    CLEARING = "CLEARING"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableMove:
    """A move from the other placement to `target`, which the job `job_id` runs."""

    target: Placement
    phase: MovePhase
    job_id: str
    is_cancelled: bool = False
    """The copies are deleted, and the tenant stays where it was."""

    @property
    def reads(self) -> Placement:
        arrived = self.phase in {MovePhase.SWITCHED, MovePhase.CLEARING}
        return self.target if arrived else self.target.other

    @property
    def writes_both(self) -> bool:
        return self.phase not in {MovePhase.PLAN, MovePhase.CLEARING}

    @property
    def goal(self) -> Placement:
        """The placement after the move. A cancelled move has its former source as target once it is CLEARING."""
        return self.target.other if self.is_cancelled and self.phase is not MovePhase.CLEARING else self.target


NAME_LENGTH = 200
REASON_LENGTH = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """A customer, whose users share one fence.

    `request` is the digest of the onboarding request, by which a repeated request is recognized."""

    id: TenantId
    name: str
    tier: Tier
    status: TenantStatus
    created_at: datetime
    updated_at: datetime
    version: int = 1
    placement: Placement = Placement.POOL
    move: TableMove | None = None
    """Not None while the tenant's items are moved to another table."""
    issuer: str = ""
    owner_id: str = ""
    request: str = ""
    overrides: QuotaOverrides = NO_OVERRIDES
    shards: Mapping[str, ShardCounts] = field(default_factory=dict)
    reason: str | None = None
    """Why the tenant is suspended."""
    offboarding_job_id: str | None = None
    """The job that offboards the tenant, or has offboarded it."""
    stored_bytes: int = 0
    """How much the tenant stored when it was last measured."""

    @property
    def quotas(self) -> Quotas:
        return quotas_of(self.tier, self.overrides)

    @property
    def reads(self) -> Placement:
        """The table that has all of the tenant's items, also during a move."""
        return self.move.reads if self.move else self.placement


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantSummary:
    """The attributes of a tenant that the indexes contain."""

    id: TenantId
    status: TenantStatus
    created_at: datetime
    updated_at: datetime
    version: int = 1


def checked_name(name: str) -> str:
    return checked_line(name, "name", NAME_LENGTH)


def checked_reason(reason: str) -> str:
    return checked_line(reason, "reason", REASON_LENGTH)


EventId = NewType("EventId", str)


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantEvent:
    """Something that happened to a tenant. `detail` is a JSON object without any of the tenant's own data."""

    id: EventId
    tenant: TenantId
    kind: str
    by: str
    detail: str
    created_at: datetime
    updated_at: datetime
    version: int = 1


def new_event(tenant: TenantId, kind: str, *, by: str, at: datetime, detail: Mapping[str, object]) -> TenantEvent:
    return TenantEvent(
        id=EventId(new_id("tev")),
        tenant=tenant,
        kind=kind,
        by=by,
        detail=orjson.dumps(detail, default=str).decode(),
        created_at=at,
        updated_at=at,
    )
