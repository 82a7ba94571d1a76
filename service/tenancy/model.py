"""What the control plane knows of a tenant."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from iam.boundary import TenantId


class Tier(StrEnum):
    """What a tenant pays for."""

    FREE = "FREE"
    STANDARD = "STANDARD"
    PREMIUM = "PREMIUM"
    ENTERPRISE = "ENTERPRISE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """A customer of ours, whose users share one fence."""

    id: TenantId
    name: str
    tier: Tier
    created_at: datetime
    updated_at: datetime
    version: int = 1
