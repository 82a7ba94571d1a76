"""What operators change of a tenant that stays: its name, its tier, its quotas, and whether it is served."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from keyfence.errors import Conflict
from keyfence.store.codec import attribute
from keyfence.tenancy.lifecycle import TenantStatus, check_step
from keyfence.tenancy.model import Tenant, checked_name, checked_reason
from keyfence.tenancy.quotas import Tier, overridden
from keyfence.tenancy.repository import Register
from keyfence.tenancy.suspensions import Suspensions
from keyfence_iam.boundary import TenantId


@dataclass(frozen=True, slots=True)
class Standing:
    """`told` hears of every tenant as it is after the change, before the operator does."""

    register: Register
    suspensions: Suspensions
    told: Callable[[Tenant], None] = lambda _: None

    async def rename(self, id: TenantId, name: str, *, expected_version: int | None) -> Tenant:
        wanted = checked_name(name)
        return self._tell(
            await self.register.change(
                id,
                "tenant.renamed",
                lambda tenant: replace(present(tenant), name=wanted),
                detail={"name": wanted},
                expected_version=expected_version,
            )
        )

    async def set_tier(self, id: TenantId, tier: Tier) -> Tenant:
        changed = await self.register.change(
            id, "tenant.tier", lambda tenant: replace(present(tenant), tier=tier), detail={"tier": tier}
        )
        return self._tell(changed)

    async def set_quotas(self, id: TenantId, changes: Mapping[str, int]) -> Tenant:
        changed = await self.register.change(
            id,
            "tenant.quotas",
            lambda tenant: replace(present(tenant), overrides=overridden(tenant.overrides, changes)),
            detail={attribute(name): value for name, value in changes.items()},
        )
        return self._tell(changed)

    async def suspend(self, id: TenantId, reason: str) -> Tenant:
        """Asked again, it makes sure that the fence knows."""
        because = checked_reason(reason)
        changed = await self.register.change(
            id,
            "tenant.suspended",
            lambda tenant: suspended(tenant, because),
            detail={"reason": because},
            also=lambda: self.suspensions.with_tenant(id),
        )
        self._tell(changed)
        await self.suspensions.publish()
        return changed

    async def resume(self, id: TenantId) -> Tenant:
        """The fence opens before the answer, so that whoever hears of it is served."""
        changed = await self.register.change(
            id, "tenant.resumed", resumed, detail={}, also=lambda: self.suspensions.without(id)
        )
        await self.suspensions.publish()
        return self._tell(changed)

    def _tell(self, tenant: Tenant) -> Tenant:
        self.told(tenant)
        return tenant


def present(tenant: Tenant) -> Tenant:
    """One that is leaving, or has left, changes no more."""
    if tenant.status in {TenantStatus.OFFBOARDING, TenantStatus.OFFBOARDED}:
        check_step(tenant.status, TenantStatus.ACTIVE)
    return tenant


def suspended(tenant: Tenant, reason: str) -> Tenant:
    if tenant.status is not TenantStatus.SUSPENDED:
        check_step(tenant.status, TenantStatus.SUSPENDED)
    return replace(tenant, status=TenantStatus.SUSPENDED, reason=reason)


def resumed(tenant: Tenant) -> Tenant:
    if tenant.status is TenantStatus.ACTIVE:
        return tenant
    if tenant.status is TenantStatus.PROVISIONING:
        raise Conflict("the tenant is still being set up: send the request that onboards it again")
    check_step(tenant.status, TenantStatus.ACTIVE)
    return replace(tenant, status=TenantStatus.ACTIVE, reason=None)
