"""A tenant whose quotas a test can choose."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from keyfence.tenancy.tenant import Tenant
from keyfence.tenancy.tenant_status import TenantStatus
from keyfence.tenancy.tier_quotas import QuotaOverrides, Tier
from keyfence_iam.tenant import parse_tenant_id

CREATED_AT = datetime(2026, 3, 1, tzinfo=UTC)
QUOTAS = QuotaOverrides(
    requests_per_second=10,
    read_units_per_second=100,
    write_units_per_second=50,
    cpu_ms_per_second=40,
    users=3,
    storage_mb=1,
)


def tenant(name: str = "acme", **quotas: Any) -> Tenant:
    return Tenant(
        id=parse_tenant_id(name),
        name=name,
        tier=Tier.FREE,
        status=TenantStatus.ACTIVE,
        overrides=replace(QUOTAS, **quotas),
        created_at=CREATED_AT,
        updated_at=CREATED_AT,
    )
