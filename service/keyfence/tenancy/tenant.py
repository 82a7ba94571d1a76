"""`Tenant`: a customer with its status, tier, placement and shard counts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from keyfence.store.shards import ShardCounts
from keyfence.tenancy.placement import Placement, TableMove
from keyfence.tenancy.tenant_status import TenantStatus
from keyfence.tenancy.tier_quotas import NO_OVERRIDES, QuotaOverrides, Quotas, Tier, quotas_of
from keyfence.validation import checked_line
from keyfence_iam.tenant import TenantId

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
