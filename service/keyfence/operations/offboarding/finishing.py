"""The end of an offboarding: what is left of a tenant in the register is that there was one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from keyfence.store.expressions import Change, equals
from keyfence.store.write import Write, change, delete
from keyfence.tenancy.access import events, events_of_tenant, identities
from keyfence.tenancy.lifecycle import TenantStatus, check_step
from keyfence.tenancy.model import Tenant
from keyfence.tenancy.move import Placement
from keyfence.tenancy.quotas import NO_OVERRIDES
from keyfence.tenancy.repository import Register
from keyfence_iam.boundary import TenantId

NOTHING = "{}"
OURS = frozenset({"tenant.offboarding", "tenant.offboarded"})
"""Events whose details are about the offboarding."""


@dataclass(frozen=True, slots=True)
class Finishing:
    """Each part of it can be repeated."""

    register: Register

    async def scrub(self, id: TenantId) -> None:
        """That something happened, when and by whom stays; names, reasons and issuers do not."""
        told = [one async for one in self.register.table.every(events_of_tenant, tenant=id)]
        for event in told:
            if event.kind not in OURS and event.detail != NOTHING:
                blank = Change(sets={("detail",): NOTHING})
                await self.register.table.write(change(events, {"tenant": id, "id": event.id}, blank))

    async def finish(self, id: TenantId, detail: dict[str, object]) -> Tenant:
        """The issuer is free from then on, and the id never is."""

        async def also() -> Sequence[Write[Any]]:
            return await self._freed(await self.register.get(id))

        return await self.register.change(id, "tenant.offboarded", tombstone, detail=detail, also=also)

    async def _freed(self, tenant: Tenant) -> Sequence[Write[Any]]:
        identity = await self.register.find_identity(tenant.issuer) if tenant.issuer else None
        if identity is None or identity.tenant != tenant.id:
            return ()
        return (delete(identities, {"digest": identity.digest}, when=equals("tenant", tenant.id)),)


def tombstone(tenant: Tenant) -> Tenant:
    if tenant.status is TenantStatus.OFFBOARDED:
        return tenant
    check_step(tenant.status, TenantStatus.OFFBOARDED)
    return replace(
        tenant,
        name=tenant.id,
        status=TenantStatus.OFFBOARDED,
        issuer="",
        owner_id="",
        request="",
        placement=Placement.POOL,
        overrides=NO_OVERRIDES,
        shards={},
        reason=None,
        stored_bytes=0,
    )
