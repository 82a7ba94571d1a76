"""The steps of a request in which the tenants' API and the operators' API differ: `TenantApi` and `OperatorApi`."""

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
from keyfence.usage.hourly_usage import SEVERAL_FIELDS, UNKNOWN_OPERATION, PriceTable

CallerT = TypeVar("CallerT")
ContextT_co = TypeVar("ContextT_co", covariant=True)


class GraphQLApi(Protocol[CallerT, ContextT_co]):
    """The steps in which the two APIs differ. `GraphQLEndpoint` calls them in this order."""

    async def authenticate(self, authorization: str | None) -> CallerT:
        """Returns the caller that the Authorization header proves. It is called before the body is read.

        Raises Unauthenticated if the header has no valid token, and Throttled if the caller sends too many requests."""

    def may_introspect(self, caller: CallerT) -> bool:
        """Whether the caller may send an introspection query."""

    def read_new_document(self, caller: CallerT) -> AbstractAsyncContextManager[None]:
        """Returns a context manager in which a document is read that this process does not know.

        Entering may wait, and raises Throttled if the caller sends too many of these documents."""

    async def yield_to_others(self, caller: CallerT) -> None:
        """Lets requests of other callers run. It is called between two steps of reading a document."""

    def charge_cpu(self, caller: CallerT, seconds: float) -> None:
        """Charges to the caller the CPU time that was needed to parse and validate the request."""

    def admit(self, caller: CallerT, request: RequestInfo | None) -> AbstractAsyncContextManager[None]:
        """Returns a context manager. While it is entered, the request counts as running.

        `__aenter__` waits if too many requests are running, and raises Throttled if a quota is used up. `request` is
        None if the request is invalid."""

    def check_revocation(self, caller: CallerT, *, may_write: bool) -> Awaitable[None]:
        """Raises Unauthenticated if the token is revoked. A request that may write does not use a cached result."""

    def make_context(self, caller: CallerT, request: RequestInfo) -> ContextT_co:
        """Returns the context that resolvers get."""

    def cost(self, caller: CallerT) -> Mapping[str, object] | None:
        """Returns the cost of the request until now, or None if this API counts no costs.

        It is called only if the request has the extension `cost`."""


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

    async def authenticate(self, authorization: str | None) -> TenantRequest:
        principal = await self.verifier.verify(bearer_token(authorization))
        tenant = await self.tenants.get_active(principal.tenant)
        return TenantRequest(principal, tenant, self.admission.admit(tenant), self.tenants.location(tenant))

    def may_introspect(self, caller: TenantRequest) -> bool:
        return self.everyone_may_introspect or INTROSPECT_SCOPE in caller.principal.scopes

    def read_new_document(self, caller: TenantRequest) -> AbstractAsyncContextManager[None]:
        return caller.admitted.read_new_document()

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
        """Returns a repository with strongly consistent reads, so that the next request finds a new revocation."""
        admitted = caller.admitted
        table = self.tables.for_tenant(caller.location, may_write=False, meter=admitted, call_limit=admitted.call_limit)
        return RevocationRepository(replace(table, consistent=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorApi:
    """The API at `/admin/graphql`. Operators have no quotas, and their tokens cannot be revoked."""

    verifier: TokenVerifier[Operator]
    contexts: AdminContextFactory
    everyone_may_introspect: bool

    async def authenticate(self, authorization: str | None) -> Operator:
        return await self.verifier.verify(bearer_token(authorization))

    def may_introspect(self, caller: Operator) -> bool:
        return self.everyone_may_introspect or INTROSPECT_SCOPE in caller.scopes

    def read_new_document(self, _caller: Operator) -> AbstractAsyncContextManager[None]:
        return nullcontext()

    async def yield_to_others(self, caller: Operator) -> None:
        pass

    def charge_cpu(self, _caller: Operator, _seconds: float) -> None:
        pass

    def admit(self, _caller: Operator, _request: RequestInfo | None) -> AbstractAsyncContextManager[None]:
        return nullcontext()

    async def check_revocation(self, caller: Operator, *, may_write: bool) -> None:
        pass

    def make_context(self, caller: Operator, request: RequestInfo) -> AdminContext:
        return self.contexts.context(caller, may_write=request.is_mutation)

    def cost(self, _caller: Operator) -> None:
        return None
