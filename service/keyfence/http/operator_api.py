"""`OperatorApi`: the steps of a request to the operators' API."""

from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass

from keyfence.admin.context import AdminContext, AdminContextFactory
from keyfence.auth.bearer_token import bearer_token
from keyfence.auth.principal import INTROSPECT_SCOPE, Operator
from keyfence.auth.token_verifier import TokenVerifier
from keyfence.graphql.executor import RequestInfo
from keyfence.http.graphql_api import origin_forbidden


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorApi:
    """The API at `/admin/graphql`. Operators have no quotas, and their tokens cannot be revoked."""

    verifier: TokenVerifier[Operator]
    contexts: AdminContextFactory
    everyone_may_introspect: bool

    async def authenticate(self, authorization: str | None) -> Operator:
        return await self.verifier.verify(bearer_token(authorization))

    def check_origin(self, _caller: Operator, origin: str) -> None:
        raise origin_forbidden(origin)

    def may_introspect(self, caller: Operator) -> bool:
        return self.everyone_may_introspect or INTROSPECT_SCOPE in caller.scopes

    def admit_new_document(self, _caller: Operator) -> AbstractAsyncContextManager[None]:
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
