"""An onboarding activates only a tenant that the same request has registered."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from keyfence.admin.onboarding import OnboardingRequest, activated, require_same_request
from keyfence.errors import Conflict
from keyfence.tenancy.tenant import Tenant
from keyfence.tenancy.tenant_status import TenantStatus
from keyfence.tenancy.tier_quotas import Tier
from keyfence_iam.tenant import parse_tenant_id

NOW = datetime(2026, 11, 16, tzinfo=UTC)
WANTED = OnboardingRequest(
    id=parse_tenant_id("acme"),
    name="A Shop",
    tier=Tier.FREE,
    owner_email="owner@acme.example",
    owner_name="First Owner",
    issuer="https://id.acme.example",
    jwks_uri="https://id.acme.example/keys",
)


def tenant(status: TenantStatus) -> Tenant:
    return Tenant(
        id=WANTED.id,
        name=WANTED.name,
        tier=WANTED.tier,
        status=status,
        onboarding_digest=WANTED.digest(),
        created_at=NOW,
        updated_at=NOW,
    )


@pytest.mark.parametrize("status", [one for one in TenantStatus if one is not TenantStatus.PROVISIONING])
def test_a_tenant_that_is_not_being_onboarded_is_not_changed(status: TenantStatus) -> None:
    assert activated(tenant(status)) == tenant(status)


def test_a_tenant_that_is_being_onboarded_becomes_active() -> None:
    assert activated(tenant(TenantStatus.PROVISIONING)) == tenant(TenantStatus.ACTIVE)


@pytest.mark.parametrize("status", [TenantStatus.OFFBOARDING, TenantStatus.OFFBOARDED])
def test_a_repeated_request_does_not_get_a_tenant_that_is_offboarding_or_offboarded(status: TenantStatus) -> None:
    with pytest.raises(Conflict):
        require_same_request(tenant(status), WANTED)


OTHERS = {
    "name": replace(WANTED, name="B"),
    "owner": replace(WANTED, owner_name="X"),
    "keys": replace(WANTED, jwks_uri="https://o.example"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_another_request_does_not_get_the_tenant(name: str) -> None:
    assert require_same_request(tenant(TenantStatus.ACTIVE), WANTED)
    with pytest.raises(Conflict):
        require_same_request(tenant(TenantStatus.ACTIVE), OTHERS[name])
