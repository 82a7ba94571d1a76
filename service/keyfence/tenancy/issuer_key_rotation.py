"""`IssuerKeyRotation`: an operator replaces the keys of a tenant's issuer."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

import orjson

from keyfence.errors import Conflict
from keyfence.store import timestamps
from keyfence.store.writes import retry_if_stale, update_model
from keyfence.tenancy.access_patterns import issuers, tenants
from keyfence.tenancy.administration import require_not_offboarded
from keyfence.tenancy.issuer_registration import IssuerKeys, TenantIssuer, checked_keys
from keyfence.tenancy.repository import TenantRepository
from keyfence.tenancy.tenant import Tenant
from keyfence.tenancy.tenant_events import TenantEventKind
from keyfence_iam.tenant import TenantId

NO_OWN_ISSUER = partial(
    Conflict, "the tenant has no issuer of its own: its tokens come from an issuer in KEYFENCE_ISSUERS"
)


@dataclass(frozen=True, slots=True)
class IssuerKeyRotation:
    """Replaces the keys of a tenant's issuer and stores an event, in one transaction. The issuer's URL never changes.

    If the new keys equal the stored keys, nothing is written."""

    tenants: TenantRepository
    on_tenant_changed: Callable[[Tenant], None] = lambda _: None
    now: Callable[[], datetime] = timestamps.utc_now
    allow_development_keys: bool = False

    async def __call__(self, id: TenantId, jwks: object, jwks_uri: str | None) -> Tenant:
        keys = checked_keys(jwks, jwks_uri, allow_development_keys=self.allow_development_keys)
        tenant = await retry_if_stale(lambda: self._replace_keys(id, keys))
        self.on_tenant_changed(tenant)
        return tenant

    async def _replace_keys(self, id: TenantId, keys: IssuerKeys) -> Tenant:
        tenant = require_not_offboarded(await self.tenants.get(id))
        before = await self._get_own_issuer(tenant)
        if keys == IssuerKeys(jwks=before.jwks, jwks_uri=before.jwks_uri):
            return tenant
        after = replace(
            before, jwks=keys.jwks, jwks_uri=keys.jwks_uri, version=before.version + 1, updated_at=self.now()
        )
        await self.tenants.table.write(
            update_model(issuers, before, after),
            # Fails if the tenant has changed since it was read: a tenant that is being offboarded must get no keys.
            update_model(tenants, tenant, tenant),
            self.tenants.event(id, TenantEventKind.ISSUER_KEYS_CHANGED, _event_detail(after)),
        )
        return tenant

    async def _get_own_issuer(self, tenant: Tenant) -> TenantIssuer:
        issuer = await self.tenants.find_issuer(tenant.issuer) if tenant.issuer else None
        if issuer is None or issuer.tenant != tenant.id:
            raise NO_OWN_ISSUER()
        return issuer


def _event_detail(issuer: TenantIssuer) -> dict[str, object]:
    if issuer.jwks is None:
        return {"issuer": issuer.issuer, "jwksUri": issuer.jwks_uri}
    return {"issuer": issuer.issuer, "kids": [key["kid"] for key in orjson.loads(issuer.jwks)["keys"]]}
