"""`IssuerKeyRotation`: an operator replaces the keys or the claim mapping of a tenant's issuer."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

import orjson

from keyfence.errors import BadInput, Conflict
from keyfence.store import timestamps
from keyfence.store.writes import retry_if_stale, update_model
from keyfence.tenancy.access_patterns import issuers, tenants
from keyfence.tenancy.administration import require_not_offboarded
from keyfence.tenancy.issuer_registration import IssuerKeys, TenantIssuer, checked_keys, checked_mapping
from keyfence.tenancy.repository import TenantRepository
from keyfence.tenancy.tenant import Tenant
from keyfence.tenancy.tenant_events import TenantEventKind
from keyfence_iam.tenant import TenantId

NO_OWN_ISSUER = partial(
    Conflict, "the tenant has no issuer of its own: its tokens come from an issuer in KEYFENCE_ISSUERS"
)


@dataclass(frozen=True, slots=True)
class IssuerKeyRotation:
    """Replaces the keys or the claim mapping of a tenant's issuer and stores an event for each of the two, in one
    transaction. The issuer's URL never changes.

    If the new values equal the stored values, nothing is written."""

    tenants: TenantRepository
    on_tenant_changed: Callable[[Tenant], None] = lambda _: None
    now: Callable[[], datetime] = timestamps.utc_now
    allow_development_keys: bool = False

    async def __call__(
        self,
        id: TenantId,
        jwks: object = None,
        jwks_uri: str | None = None,
        *,
        discover: bool = False,
        mapping: object = None,
    ) -> Tenant:
        """Replaces the keys if `jwks` or `jwks_uri` is given, or `discover` is true: then the metadata of the issuer
        name the URI of the keys. Replaces the mapping if `mapping` is given; an empty object removes it."""
        sources = [source for source in (jwks, jwks_uri, discover or None) if source is not None]
        if len(sources) > 1 or (not sources and mapping is None):
            message = "give at most one of jwks, jwksUri and discover, and at least one of them or mapping"
            raise BadInput(message, field="jwks" if jwks_uri is None else "jwksUri")
        change = partial(self._changed, jwks=jwks, jwks_uri=jwks_uri, has_keys=bool(sources), mapping=mapping)
        tenant = await retry_if_stale(lambda: self._change(id, change))
        self.on_tenant_changed(tenant)
        return tenant

    def _changed(
        self, before: TenantIssuer, *, jwks: object, jwks_uri: str | None, has_keys: bool, mapping: object
    ) -> TenantIssuer:
        keys = IssuerKeys(jwks=before.jwks, jwks_uri=before.jwks_uri)
        if has_keys:
            allow = self.allow_development_keys
            keys = checked_keys(jwks, jwks_uri, before.issuer, allow_development_keys=allow)
        new_mapping = before.mapping if mapping is None else checked_mapping(mapping, before.tenant)
        return replace(before, jwks=keys.jwks, jwks_uri=keys.jwks_uri, mapping=new_mapping)

    async def _change(self, id: TenantId, change: Callable[[TenantIssuer], TenantIssuer]) -> Tenant:
        tenant = require_not_offboarded(await self.tenants.get(id))
        before = await self._get_own_issuer(tenant)
        after = change(before)
        if after == before:
            return tenant
        await self.tenants.table.write(
            update_model(issuers, before, replace(after, version=before.version + 1, updated_at=self.now())),
            # Fails if the tenant has changed since it was read: a tenant that is being offboarded must get no keys.
            update_model(tenants, tenant, tenant),
            *(self.tenants.event(id, kind, detail) for kind, detail in _events(before, after)),
        )
        return tenant

    async def _get_own_issuer(self, tenant: Tenant) -> TenantIssuer:
        issuer = await self.tenants.find_issuer(tenant.issuer) if tenant.issuer else None
        if issuer is None or issuer.tenant != tenant.id:
            raise NO_OWN_ISSUER()
        return issuer


def _events(before: TenantIssuer, after: TenantIssuer) -> Iterator[tuple[TenantEventKind, dict[str, object]]]:
    """Yields the kind and the detail of an event for changed keys, and of an event for a changed mapping."""
    if (after.jwks, after.jwks_uri) != (before.jwks, before.jwks_uri):
        yield TenantEventKind.ISSUER_KEYS_CHANGED, {"issuer": after.issuer, **_keys_detail(after)}
    if after.mapping != before.mapping:
        mapping = orjson.loads(after.mapping or "{}")
        yield TenantEventKind.ISSUER_MAPPING_CHANGED, {"issuer": after.issuer, "mapping": mapping}


def _keys_detail(issuer: TenantIssuer) -> dict[str, object]:
    if issuer.jwks is None:
        return {"jwksUri": issuer.jwks_uri}
    return {"kids": [key["kid"] for key in orjson.loads(issuer.jwks)["keys"]]}
