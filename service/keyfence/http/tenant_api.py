"""`TenantApi`: the steps of a request to the tenants' API."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from functools import partial

from keyfence.admission.admission import Admission, TenantRequest
from keyfence.auth.bearer_token import bearer_token
from keyfence.auth.principal import INTROSPECT_SCOPE, Principal
from keyfence.auth.token_verifier import TokenVerifier
from keyfence.domains.sessions.revocation import RevocationCheck, RevocationRepository
from keyfence.graphql.context import Context
from keyfence.graphql.executor import RequestInfo
from keyfence.http.graphql_api import origin_forbidden
from keyfence.store.table_handles import Tables
from keyfence.store.writes import ActivityLog
from keyfence.tenancy.tenant_cache import TenantCache
from keyfence.usage.hourly_usage import SEVERAL_FIELDS, UNKNOWN_OPERATION, PriceTable


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantApi:
    """The API at `/graphql`. Its resolvers reach only the items of the caller's tenant."""

    verifier: TokenVerifier[Principal]
    tenants: TenantCache
    admission: Admission
    tables: Tables
    new_activity_log: Callable[[str], ActivityLog | None]
    revocations: RevocationCheck
    prices: PriceTable
    everyone_may_introspect: bool
    tenants_have_origins: bool = False

    async def authenticate(self, authorization: str | None) -> TenantRequest:
        principal = await self.verifier.verify(bearer_token(authorization))
        tenant = await self.tenants.get_active(principal.tenant)
        return TenantRequest(principal, tenant, self.admission.admit(tenant), self.tenants.location(tenant))

    def check_origin(self, caller: TenantRequest, origin: str) -> None:
        if not self.tenants_have_origins or origin not in caller.tenant.origins:
            raise origin_forbidden(origin)

    def may_introspect(self, caller: TenantRequest) -> bool:
        return self.everyone_may_introspect or INTROSPECT_SCOPE in caller.principal.scopes

    def admit_new_document(self, caller: TenantRequest) -> AbstractAsyncContextManager[None]:
        return caller.admitted.admit_new_document()

    async def yield_to_others(self, caller: TenantRequest) -> None:
        await caller.admitted.yield_to_others()

    def charge_cpu(self, caller: TenantRequest, seconds: float) -> None:
        caller.admitted.charge_cpu(seconds)

    def admit(self, caller: TenantRequest, request: RequestInfo | None) -> AbstractAsyncContextManager[None]:
        if request is None:
            return caller.admitted.run(UNKNOWN_OPERATION, may_write=False)
        return caller.admitted.run(request.root_field or SEVERAL_FIELDS, may_write=request.is_mutation)

    def check_revocation(self, caller: TenantRequest, *, may_write: bool) -> Awaitable[None]:
        make_repository = partial(self._revocation_repository, caller)
        return self.revocations.check(caller.principal, make_repository, may_write=may_write)

    def make_context(self, caller: TenantRequest, request: RequestInfo) -> Context:
        admitted = caller.admitted
        table = self.tables.for_tenant(
            caller.location, may_write=request.is_mutation, meter=admitted, call_limit=admitted.call_limit
        )
        if request.is_mutation:
            table = replace(table, activity_log=self.new_activity_log(caller.principal.subject))
        return Context(caller, table)

    def cost(self, caller: TenantRequest) -> Mapping[str, object]:
        """Returns the DynamoDB calls and units of the request until now. The check for a revocation is included."""
        meter = caller.admitted
        return {
            "calls": meter.calls.total(),
            "readUnits": meter.read_units,
            "writeUnits": meter.write_units,
            "usd": float(self.prices.cost(meter.read_units, meter.write_units)),
        }

    def _revocation_repository(self, caller: TenantRequest) -> RevocationRepository:
        """Returns a repository with strongly consistent reads, so that the next read finds a new revocation."""
        admitted = caller.admitted
        table = self.tables.for_tenant(caller.location, may_write=False, meter=admitted, call_limit=admitted.call_limit)
        return RevocationRepository(replace(table, consistent=True))
