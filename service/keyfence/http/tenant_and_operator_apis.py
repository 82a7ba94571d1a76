"""The two GraphQL APIs, step by step: `TenantApi` for users of tenants, `OperatorApi` for operators."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, TypeVar

from keyfence.admin.context import AdminContext, AdminContextFactory
from keyfence.admission.admission import Admission, TenantRequest
from keyfence.auth.bearer_token import bearer_token
from keyfence.auth.principal import INTROSPECT_SCOPE, Operator, Principal
from keyfence.auth.token_verifier import TokenVerifier
from keyfence.domains.sessions.revocation import RevocationCheck, RevocationRepository
from keyfence.graphql.context import Context
from keyfence.graphql.executor import RequestInfo
from keyfence.store.table_handles import Tables
from keyfence.store.writes import ActivityLog
from keyfence.tenancy.tenant_cache import TenantCache
from keyfence.usage.hourly_usage import SEVERAL, UNKNOWN, PriceTable

CallerT = TypeVar("CallerT")
ContextT_co = TypeVar("ContextT_co", covariant=True)


class GraphQLApi(Protocol[CallerT, ContextT_co]):
    """The steps of a request that differ between the endpoints. `GraphQLEndpoint` runs them in this order."""

    async def authenticate(self, authorization: str | None) -> CallerT:
        """Return who calls, by the Authorization header, before the body is read. Raises Unauthenticated, Throttled."""

    def may_introspect(self, caller: CallerT) -> bool:
        """Whether the caller may read the schema."""

    def admit(self, caller: CallerT, request: RequestInfo | None) -> AbstractAsyncContextManager[None]:
        """Hold the caller's place while the request runs. `request` is None if the request could not be parsed."""

    def check_revocation(self, caller: CallerT) -> Awaitable[None]:
        """Raise Unauthenticated if the token is revoked. A query runs at the same time, and only its answer waits."""

    def context(self, caller: CallerT, request: RequestInfo) -> ContextT_co:
        """Return the context that resolvers see."""

    def cost(self, caller: CallerT) -> Mapping[str, object] | None:
        """Return what the request has cost, for callers that set the `cost` extension; None if that is not counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantApi:
    """The API at `/graphql`. All that resolvers reach is the table of the caller's tenant."""

    verifier: TokenVerifier[Principal]
    tenants: TenantCache
    admission: Admission
    tables: Tables
    new_activity_log: Callable[[str], ActivityLog | None]
    revocations: RevocationCheck
    prices: PriceTable
    introspection: bool

    async def authenticate(self, authorization: str | None) -> TenantRequest:
        principal = await self.verifier.verify(bearer_token(authorization))
        tenant = await self.tenants.get_active(principal.tenant)
        return TenantRequest(principal, tenant, self.admission.admit(tenant), self.tenants.location(tenant))

    def may_introspect(self, caller: TenantRequest) -> bool:
        return self.introspection or INTROSPECT_SCOPE in caller.principal.scopes

    def admit(self, caller: TenantRequest, request: RequestInfo | None) -> AbstractAsyncContextManager[None]:
        if request is None:
            return caller.admitted.running(UNKNOWN, writes=False)
        return caller.admitted.running(request.root_field or SEVERAL, writes=request.is_mutation)

    def check_revocation(self, caller: TenantRequest) -> Awaitable[None]:
        return self.revocations.check(caller.tenant.id, caller.principal.token_id, partial(self._revocations, caller))

    def context(self, caller: TenantRequest, request: RequestInfo) -> Context:
        admitted = caller.admitted
        table = self.tables.for_tenant(
            caller.location, writes=request.is_mutation, meter=admitted, call_limit=admitted.slot
        )
        if request.is_mutation:
            table = replace(table, activity_log=self.new_activity_log(caller.principal.subject))
        return Context(caller, table)

    def cost(self, caller: TenantRequest) -> Mapping[str, object]:
        """The calls of this request until now, with the check for a revocation."""
        spent = caller.admitted
        return {
            "calls": spent.calls.total(),
            "readUnits": spent.read_units,
            "writeUnits": spent.write_units,
            "usd": float(self.prices.cost(spent.read_units, spent.write_units)),
        }

    def _revocations(self, caller: TenantRequest) -> RevocationRepository:
        """Read consistently, so that a revocation holds from the next request on."""
        admitted = caller.admitted
        table = self.tables.for_tenant(caller.location, writes=False, meter=admitted, call_limit=admitted.slot)
        return RevocationRepository(replace(table, consistent=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorApi:
    """The API at `/admin/graphql`. It has no quotas, and the tokens of operators cannot be revoked."""

    verifier: TokenVerifier[Operator]
    contexts: AdminContextFactory
    introspection: bool

    async def authenticate(self, authorization: str | None) -> Operator:
        return await self.verifier.verify(bearer_token(authorization))

    def may_introspect(self, caller: Operator) -> bool:
        return self.introspection or INTROSPECT_SCOPE in caller.scopes

    def admit(self, _caller: Operator, _request: RequestInfo | None) -> AbstractAsyncContextManager[None]:
        return nullcontext()

    async def check_revocation(self, caller: Operator) -> None:
        pass

    def context(self, caller: Operator, request: RequestInfo) -> AdminContext:
        return self.contexts.context(caller, writes=request.is_mutation)

    def cost(self, _caller: Operator) -> None:
        return None
