"""`Tenant`: a customer of the service, with its status, tier, quotas, placement and shard counts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from keyfence.store.shards import ShardCounts
from keyfence.tenancy.placement import Placement, TableMove
from keyfence.tenancy.tenant_status import TenantStatus
from keyfence.tenancy.tier_quotas import NO_OVERRIDES, QuotaOverrides, Quotas, Tier, quotas_of
from keyfence.validation import checked_line
from keyfence_iam.tenant import TenantId

MAX_NAME_LENGTH = 200
MAX_REASON_LENGTH = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """A customer of the service. All items of a tenant have keys with the prefix of the tenant."""

    id: TenantId
    name: str
    tier: Tier
    status: TenantStatus
    created_at: datetime
    updated_at: datetime
    version: int = 1
    placement: Placement = Placement.POOL
    move: TableMove | None = None
    """The move of the tenant's items to another table. None if the items are not being moved."""
    issuer: str = ""
    """The URL of the tenant's own issuer. Empty if its tokens come from an issuer in KEYFENCE_ISSUERS."""
    owner_id: str = ""
    """The id of the user that the onboarding created."""
    onboarding_digest: str = ""
    """The digest of the onboarding request. The same request sent again has the same digest."""
    overrides: QuotaOverrides = NO_OVERRIDES
    shards: Mapping[str, ShardCounts] = field(default_factory=dict)
    """Shard counts by the name of the collection. A collection that is missing here has one shard."""
    reason: str | None = None
    """Why the tenant is suspended."""
    offboarding_job_id: str | None = None
    """The job that offboards the tenant, or has offboarded it."""
    origins: frozenset[str] = frozenset()
    """Origins of web pages that may call the API for this tenant, in addition to those of the settings."""
    stored_bytes: int = 0
    """The size of all items of the tenant when they were last measured."""

    @property
    def quotas(self) -> Quotas:
        return quotas_of(self.tier, self.overrides)

    @property
    def read_placement(self) -> Placement:
        """The placement that servers read from. Its table has all of the tenant's items, also during a move."""
        return self.move.read_placement if self.move else self.placement


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantSummary:
    """The attributes of a tenant that the indexes of the table contain."""

    id: TenantId
    status: TenantStatus
    created_at: datetime
    updated_at: datetime
    version: int = 1


def checked_name(name: str) -> str:
    return checked_line(name, "name", MAX_NAME_LENGTH)


def checked_reason(reason: str) -> str:
    return checked_line(reason, "reason", MAX_REASON_LENGTH)
