"""`Tenant`, its status and allowed transitions, its placement and table move, `TenantEvent`."""

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
    """Where a tenant stands; only an ACTIVE one is served."""

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
    """Where a tenant's items are: among the others', or in a table of their own."""

    POOL = "POOL"
    SILO = "SILO"

    @property
    def other(self) -> "Placement":
        return Placement.POOL if self is Placement.SILO else Placement.SILO


class MovePhase(StrEnum):
    """How far a move has come. Whoever serves by one of them gets along with whoever serves by the next."""

    PLAN = "PLAN"
    DUAL = "DUAL"
    BACKFILL = "BACKFILL"
    SHADOW = "SHADOW"
    SWITCHED = "SWITCHED"
    CLEARING = "CLEARING"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableMove:
    """Under way from the other placement to `target`; `migration` is the record of what carries it out."""

    target: Placement
    phase: MovePhase
    job_id: str
    is_cancelled: bool = False
    """It was called off: what was copied goes, and the tenant stays where it was."""

    @property
    def reads(self) -> Placement:
        arrived = self.phase in {MovePhase.SWITCHED, MovePhase.CLEARING}
        return self.target if arrived else self.target.other

    @property
    def writes_both(self) -> bool:
        return self.phase not in {MovePhase.PLAN, MovePhase.CLEARING}

    @property
    def goal(self) -> Placement:
        """Where the tenant will be in the end; one that turned back has it for its target when it is there."""
        return self.target.other if self.is_cancelled and self.phase is not MovePhase.CLEARING else self.target


NAME_LENGTH = 200
REASON_LENGTH = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """A customer of ours, whose users share one fence.

    `request` is the digest of the request that it was onboarded by, by which a repetition is known."""

    id: TenantId
    name: str
    tier: Tier
    status: TenantStatus
    created_at: datetime
    updated_at: datetime
    version: int = 1
    placement: Placement = Placement.POOL
    move: TableMove | None = None
    """To where its items are being moved."""
    issuer: str = ""
    owner_id: str = ""
    request: str = ""
    overrides: QuotaOverrides = NO_OVERRIDES
    shards: Mapping[str, ShardCounts] = field(default_factory=dict)
    reason: str | None = None
    """Why it is suspended."""
    offboarding_job_id: str | None = None
    """The job that offboards the tenant, or has offboarded it."""
    stored_bytes: int = 0
    """When its items were last weighed."""

    @property
    def quotas(self) -> Quotas:
        return quotas_of(self.tier, self.overrides)

    @property
    def reads(self) -> Placement:
        """Where all that it has is, also while it is moved."""
        return self.move.reads if self.move else self.placement


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantSummary:
    """What the lists of tenants carry of each."""

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
    """`detail` is JSON text; nothing of the tenant's own data stands in it."""

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
