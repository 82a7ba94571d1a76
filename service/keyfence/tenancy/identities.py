"""The identities of tenants: found by their issuers, and given other keys."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

import orjson

from keyfence.errors import Conflict
from keyfence.store import clock
from keyfence.store.retry import unless_stale
from keyfence.store.table import Table
from keyfence.store.write import revise
from keyfence.tenancy.access import identities, identity_by_digest, tenants
from keyfence.tenancy.issuers import Identity, KeyPlace, checked_keys, issuer_digest
from keyfence.tenancy.model import Tenant
from keyfence.tenancy.repository import Register
from keyfence.tenancy.standing import present
from keyfence_iam.boundary import TenantId

UNOWNED = partial(Conflict, "the tenant has no issuer of its own: those of the settings speak for it")


@dataclass(frozen=True, slots=True)
class Identities:
    """As whoever verifies tokens reads them."""

    table: Table

    async def find(self, issuer: str) -> Identity | None:
        return await self.table.find(identity_by_digest, digest=issuer_digest(issuer))


@dataclass(frozen=True, slots=True)
class Rotation:
    """Other keys for a tenant's issuer, in one step with the event; the issuer itself stays."""

    register: Register
    told: Callable[[Tenant], None] = lambda _: None
    now: Callable[[], datetime] = clock.now

    async def __call__(self, id: TenantId, jwks: object, jwks_uri: str | None) -> Tenant:
        place = checked_keys(jwks, jwks_uri)
        tenant = await unless_stale(lambda: self._set(id, place))
        self.told(tenant)
        return tenant

    async def _set(self, id: TenantId, place: KeyPlace) -> Tenant:
        """Of a tenant that is as it was read, so that none gets keys while it leaves. The same keys are no change."""
        tenant = present(await self.register.get(id))
        before = await self._identity(tenant)
        if place != KeyPlace(jwks=before.jwks, jwks_uri=before.jwks_uri):
            after = replace(
                before,
                jwks=place.jwks,
                jwks_uri=place.jwks_uri,
                version=before.version + 1,
                updated_at=self.now(),
            )
            await self.register.table.write(
                revise(identities, before, after),
                revise(tenants, tenant, tenant),
                self.register.event(id, "tenant.identity", _detail(after)),
            )
        return tenant

    async def _identity(self, tenant: Tenant) -> Identity:
        identity = await self.register.find_identity(tenant.issuer) if tenant.issuer else None
        if identity is None or identity.tenant != tenant.id:
            raise UNOWNED()
        return identity


def _detail(identity: Identity) -> dict[str, object]:
    if identity.jwks is None:
        return {"issuer": identity.issuer, "jwksUri": identity.jwks_uri}
    return {"issuer": identity.issuer, "kids": [key["kid"] for key in orjson.loads(identity.jwks)["keys"]]}
