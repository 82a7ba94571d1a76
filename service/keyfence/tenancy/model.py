"""What the control plane knows of a tenant."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from keyfence.store.shards import ShardCounts
from keyfence.tenancy.lifecycle import TenantStatus
from keyfence.tenancy.move import Move, Placement
from keyfence.tenancy.quotas import NO_OVERRIDES, Overrides, Quotas, Tier, quotas_of
from keyfence.validation import checked_line
from keyfence_iam.boundary import TenantId

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
    move: Move | None = None
    """To where its items are being moved."""
    issuer: str = ""
    owner_id: str = ""
    request: str = ""
    overrides: Overrides = NO_OVERRIDES
    shards: Mapping[str, ShardCounts] = field(default_factory=dict)
    reason: str | None = None
    """Why it is suspended."""
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
class Listed:
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
