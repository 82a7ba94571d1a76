"""Changes that operators make to a tenant: name, tier, quotas, suspension, and the keys of its issuer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

import orjson

from keyfence.errors import Conflict
from keyfence.store import timestamps
from keyfence.store.codec import attribute_name
from keyfence.store.writes import retry_if_stale, update_model
from keyfence.tenancy.access_patterns import issuers, tenants
from keyfence.tenancy.issuer_registration import IssuerKeys, TenantIssuer, checked_keys
from keyfence.tenancy.repository import TenantRepository
from keyfence.tenancy.suspensions import SuspensionPublisher
from keyfence.tenancy.tenant import Tenant, checked_name, checked_reason
from keyfence.tenancy.tenant_events import TenantEventKind
from keyfence.tenancy.tenant_status import TenantStatus, check_transition
from keyfence.tenancy.tier_quotas import Tier, with_overrides
from keyfence_iam.tenant import TenantId


@dataclass(frozen=True, slots=True)
class TenantAdministration:
    """Changes tenants. `on_tenant_changed` is called with the changed tenant before the operator gets the answer."""

    tenants: TenantRepository
    suspensions: SuspensionPublisher
    on_tenant_changed: Callable[[Tenant], None] = lambda _: None

    async def rename(self, id: TenantId, name: str, *, expected_version: int | None) -> Tenant:
        checked = checked_name(name)
        return self._notify(
            await self.tenants.change(
                id,
                TenantEventKind.RENAMED,
                lambda tenant: replace(require_not_leaving(tenant), name=checked),
                detail={"name": checked},
                expected_version=expected_version,
            )
        )

    async def set_tier(self, id: TenantId, tier: Tier) -> Tenant:
        changed = await self.tenants.change(
            id,
            TenantEventKind.TIER_CHANGED,
            lambda tenant: replace(require_not_leaving(tenant), tier=tier),
            detail={"tier": tier},
        )
        return self._notify(changed)

    async def set_quotas(self, id: TenantId, changes: Mapping[str, int]) -> Tenant:
        changed = await self.tenants.change(
            id,
            TenantEventKind.QUOTAS_CHANGED,
            lambda tenant: replace(require_not_leaving(tenant), overrides=with_overrides(tenant.overrides, changes)),
            detail={attribute_name(name): value for name, value in changes.items()},
        )
        return self._notify(changed)

    async def suspend(self, id: TenantId, reason: str) -> Tenant:
        """Suspends a tenant. Called again, it publishes the suspension to IAM again."""
        checked = checked_reason(reason)
        changed = await self.tenants.change(
            id,
            TenantEventKind.SUSPENDED,
            lambda tenant: suspended(tenant, checked),
            detail={"reason": checked},
            also=lambda: self.suspensions.adding(id),
        )
        self._notify(changed)
        await self.suspensions.publish()
        return changed

    async def resume(self, id: TenantId) -> Tenant:
        """Resumes a tenant. IAM allows its sessions before this returns, so that its next request succeeds."""
        changed = await self.tenants.change(
            id, TenantEventKind.RESUMED, resumed, detail={}, also=lambda: self.suspensions.removing(id)
        )
        await self.suspensions.publish()
        return self._notify(changed)

    def _notify(self, tenant: Tenant) -> Tenant:
        self.on_tenant_changed(tenant)
        return tenant


def require_not_leaving(tenant: Tenant) -> Tenant:
    """Raises Conflict if the tenant is being offboarded or has been offboarded."""
    if tenant.status in {TenantStatus.OFFBOARDING, TenantStatus.OFFBOARDED}:
        check_transition(tenant.status, TenantStatus.ACTIVE)
    return tenant


def suspended(tenant: Tenant, reason: str) -> Tenant:
    if tenant.status is not TenantStatus.SUSPENDED:
        check_transition(tenant.status, TenantStatus.SUSPENDED)
    return replace(tenant, status=TenantStatus.SUSPENDED, reason=reason)


def resumed(tenant: Tenant) -> Tenant:
    if tenant.status is TenantStatus.ACTIVE:
        return tenant
    if tenant.status is TenantStatus.PROVISIONING:
        raise Conflict("the tenant is still being set up; send the onboarding request again")
    check_transition(tenant.status, TenantStatus.ACTIVE)
    return replace(tenant, status=TenantStatus.ACTIVE, reason=None)


NO_OWN_ISSUER = partial(
    Conflict, "the tenant has no issuer of its own: its tokens come from an issuer in KEYFENCE_ISSUERS"
)


@dataclass(frozen=True, slots=True)
class IssuerKeyRotation:
    """Replaces the keys of a tenant's issuer, in one transaction with the event. The issuer itself stays."""

    tenants: TenantRepository
    on_tenant_changed: Callable[[Tenant], None] = lambda _: None
    now: Callable[[], datetime] = timestamps.utc_now
    allow_development_keys: bool = False

    async def __call__(self, id: TenantId, jwks: object, jwks_uri: str | None) -> Tenant:
        keys = checked_keys(jwks, jwks_uri, allow_development_keys=self.allow_development_keys)
        tenant = await retry_if_stale(lambda: self._set(id, keys))
        self.on_tenant_changed(tenant)
        return tenant

    async def _set(self, id: TenantId, keys: IssuerKeys) -> Tenant:
        """Writes only if the tenant has not changed since it was read, so that a leaving tenant gets no keys.

        The same keys again change nothing."""
        tenant = require_not_leaving(await self.tenants.get(id))
        before = await self._identity(tenant)
        if keys != IssuerKeys(jwks=before.jwks, jwks_uri=before.jwks_uri):
            after = replace(
                before,
                jwks=keys.jwks,
                jwks_uri=keys.jwks_uri,
                version=before.version + 1,
                updated_at=self.now(),
            )
            await self.tenants.table.write(
                update_model(issuers, before, after),
                update_model(tenants, tenant, tenant),
                self.tenants.event(id, TenantEventKind.ISSUER_KEYS_CHANGED, _detail(after)),
            )
        return tenant

    async def _identity(self, tenant: Tenant) -> TenantIssuer:
        identity = await self.tenants.find_issuer(tenant.issuer) if tenant.issuer else None
        if identity is None or identity.tenant != tenant.id:
            raise NO_OWN_ISSUER()
        return identity


def _detail(identity: TenantIssuer) -> dict[str, object]:
    if identity.jwks is None:
        return {"issuer": identity.issuer, "jwksUri": identity.jwks_uri}
    return {"issuer": identity.issuer, "kids": [key["kid"] for key in orjson.loads(identity.jwks)["keys"]]}
