"""`TenantErasure`: deletes data about an offboarded tenant from the control plane."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from keyfence.store.expressions import UpdateExpression, equals
from keyfence.store.writes import Write, delete, update_attributes
from keyfence.tenancy.access_patterns import events, events_of_tenant, issuers
from keyfence.tenancy.placement import Placement
from keyfence.tenancy.repository import TenantRepository
from keyfence.tenancy.tenant import Tenant
from keyfence.tenancy.tenant_events import TenantEventKind
from keyfence.tenancy.tenant_status import TenantStatus, check_transition
from keyfence.tenancy.tier_quotas import NO_OVERRIDES
from keyfence_iam.tenant import TenantId

KEPT_EVENTS = frozenset({TenantEventKind.OFFBOARDING, TenantEventKind.OFFBOARDED})
"""Events that keep their detail, because the detail is about the offboarding itself."""

_NO_DETAIL = "{}"


@dataclass(frozen=True, slots=True)
class TenantErasure:
    """The last steps of an offboarding in the control plane. Each step can be repeated without harm."""

    tenants: TenantRepository

    async def erase_event_details(self, id: TenantId) -> None:
        """Empties the details of events, which contain names, reasons and issuers.

        The kind, the time and the operator of each event stay."""
        stored_events = [event async for event in self.tenants.table.iterate_shards(events_of_tenant, tenant=id)]
        for event in stored_events:
            if event.kind not in KEPT_EVENTS and event.detail != _NO_DETAIL:
                change = UpdateExpression(sets={("detail",): _NO_DETAIL})
                await self.tenants.table.write(update_attributes(events, {"tenant": id, "id": event.id}, change))

    async def finish(self, id: TenantId, detail: dict[str, object]) -> Tenant:
        """Marks the tenant OFFBOARDED, and deletes its issuer, which another tenant may use from then on.

        No other tenant ever gets the id of this tenant."""

        async def issuer_deletion() -> Sequence[Write[Any]]:
            return await self._issuer_deletion(await self.tenants.get(id))

        return await self.tenants.change(
            id, TenantEventKind.OFFBOARDED, tombstone, detail=detail, more_writes=issuer_deletion
        )

    async def _issuer_deletion(self, tenant: Tenant) -> Sequence[Write[Any]]:
        issuer = await self.tenants.find_issuer(tenant.issuer) if tenant.issuer else None
        if issuer is None or issuer.tenant != tenant.id:
            return ()
        return (delete(issuers, {"digest": issuer.digest}, when=equals("tenant", tenant.id)),)


def tombstone(tenant: Tenant) -> Tenant:
    """Returns the record that remains after an offboarding: the id of the tenant, its tier and its times."""
    if tenant.status is TenantStatus.OFFBOARDED:
        return tenant
    check_transition(tenant.status, TenantStatus.OFFBOARDED)
    return replace(
        tenant,
        name=tenant.id,
        status=TenantStatus.OFFBOARDED,
        issuer="",
        owner_id="",
        onboarding_digest="",
        placement=Placement.POOL,
        overrides=NO_OVERRIDES,
        shards={},
        reason=None,
        stored_bytes=0,
    )
