"""`TenantAdministration`: operators change the name, tier, quotas and origins of a tenant, suspend it and resume it."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

from keyfence.errors import BadInput, Conflict
from keyfence.store.codec import attribute_name
from keyfence.tenancy.repository import TenantRepository
from keyfence.tenancy.suspensions import SuspensionPublisher
from keyfence.tenancy.tenant import Tenant, checked_name, checked_reason
from keyfence.tenancy.tenant_events import TenantEventKind
from keyfence.tenancy.tenant_status import TenantStatus, check_transition
from keyfence.tenancy.tier_quotas import Tier, with_overrides
from keyfence.validation import checked_origin
from keyfence_iam.tenant import TenantId

MAX_ORIGINS = 20


@dataclass(frozen=True, slots=True)
class TenantAdministration:
    """Changes tenants for an operator. Every change is stored with an event."""

    tenants: TenantRepository
    suspensions: SuspensionPublisher
    on_tenant_changed: Callable[[Tenant], None] = lambda _: None
    """Called with each changed tenant, so that this process uses the change immediately."""

    async def rename(self, id: TenantId, name: str, *, expected_version: int | None) -> Tenant:
        """Raises Conflict if the tenant's version is not `expected_version`. None accepts every version."""
        new_name = checked_name(name)
        changed = await self.tenants.change(
            id,
            TenantEventKind.RENAMED,
            lambda tenant: replace(require_not_offboarded(tenant), name=new_name),
            detail={"name": new_name},
            expected_version=expected_version,
        )
        return self._notify(changed)

    async def set_tier(self, id: TenantId, tier: Tier) -> Tenant:
        changed = await self.tenants.change(
            id,
            TenantEventKind.TIER_CHANGED,
            lambda tenant: replace(require_not_offboarded(tenant), tier=tier),
            detail={"tier": tier},
        )
        return self._notify(changed)

    async def set_quotas(self, id: TenantId, changes: Mapping[str, int]) -> Tenant:
        changed = await self.tenants.change(
            id,
            TenantEventKind.QUOTAS_CHANGED,
            lambda tenant: replace(require_not_offboarded(tenant), overrides=with_overrides(tenant.overrides, changes)),
            detail={attribute_name(name): value for name, value in changes.items()},
        )
        return self._notify(changed)

    async def set_origins(self, id: TenantId, origins: Collection[str]) -> Tenant:
        """Replaces the origins of web pages that may call the API for this tenant. Raises BadInput for a bad origin."""
        if len(origins) > MAX_ORIGINS:
            raise BadInput(f"a tenant can have at most {MAX_ORIGINS} origins", field="origins")
        new_origins = frozenset(map(checked_origin, origins))
        changed = await self.tenants.change(
            id,
            TenantEventKind.ORIGINS_CHANGED,
            lambda tenant: replace(require_not_offboarded(tenant), origins=new_origins),
            detail={"origins": sorted(new_origins)},
        )
        return self._notify(changed)

    async def suspend(self, id: TenantId, reason: str) -> Tenant:
        """Suspends a tenant, and makes IAM deny the STS sessions that servers still have for the tenant.

        If IAM fails, this method raises Throttled, and the tenant stays suspended. The same call sent again publishes
        the suspension to IAM again."""
        stored_reason = checked_reason(reason)
        changed = await self.tenants.change(
            id,
            TenantEventKind.SUSPENDED,
            lambda tenant: suspended(tenant, stored_reason),
            detail={"reason": stored_reason},
            more_writes=lambda: self.suspensions.writes_to_add(id),
        )
        self._notify(changed)
        await self.suspensions.publish()
        return changed

    async def resume(self, id: TenantId) -> Tenant:
        """Resumes a tenant. IAM allows the tenant's sessions before this method returns, so that a request after the
        answer succeeds."""
        changed = await self.tenants.change(
            id, TenantEventKind.RESUMED, resumed, detail={}, more_writes=lambda: self.suspensions.writes_to_remove(id)
        )
        await self.suspensions.publish()
        return self._notify(changed)

    def _notify(self, tenant: Tenant) -> Tenant:
        self.on_tenant_changed(tenant)
        return tenant


def require_not_offboarded(tenant: Tenant) -> Tenant:
    """Returns the tenant. Raises Conflict if the tenant is being offboarded or has been offboarded."""
    if tenant.status in {TenantStatus.OFFBOARDING, TenantStatus.OFFBOARDED}:
        # A tenant in these statuses cannot become ACTIVE, so this call always raises Conflict. Its message names the
        # statuses that are possible.
        check_transition(tenant.status, TenantStatus.ACTIVE)
    return tenant


def suspended(tenant: Tenant, reason: str) -> Tenant:
    """Returns the tenant as SUSPENDED. A tenant that is already suspended gets the new reason."""
    if tenant.status is not TenantStatus.SUSPENDED:
        check_transition(tenant.status, TenantStatus.SUSPENDED)
    return replace(tenant, status=TenantStatus.SUSPENDED, reason=reason)


def resumed(tenant: Tenant) -> Tenant:
    """Returns the tenant as ACTIVE. Raises Conflict if the tenant is neither SUSPENDED nor ACTIVE."""
    if tenant.status is TenantStatus.ACTIVE:
        return tenant
    if tenant.status is TenantStatus.PROVISIONING:
        raise Conflict("the tenant is still being set up; send the onboarding request again")
    check_transition(tenant.status, TenantStatus.ACTIVE)
    return replace(tenant, status=TenantStatus.ACTIVE, reason=None)
