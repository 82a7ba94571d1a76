"""`GraphQLApi`: the steps of a request in which the tenants' API and the operators' API differ."""

from collections.abc import Awaitable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol, TypeVar

from keyfence.errors import Forbidden
from keyfence.graphql.executor import RequestInfo

CallerT = TypeVar("CallerT")
ContextT_co = TypeVar("ContextT_co", covariant=True)


class GraphQLApi(Protocol[CallerT, ContextT_co]):
    """The steps in which the two APIs differ. `GraphQLEndpoint` calls them in this order."""

    async def authenticate(self, authorization: str | None) -> CallerT:
        """Returns the caller that the Authorization header proves. It is called before the body is read.

        Raises Unauthenticated if the header has no valid token, and Throttled if the caller sends too many requests."""

    def check_origin(self, caller: CallerT, origin: str) -> None:
        """Raises Forbidden unless web pages of this origin may call the API for this caller. It is called only for an
        origin that may not call the API for all callers."""

    def may_introspect(self, caller: CallerT) -> bool:
        """Whether the caller may send an introspection query."""

    def admit_new_document(self, caller: CallerT) -> AbstractAsyncContextManager[None]:
        """Returns a context manager. A document that is not in the cache is parsed and validated in its `with` block.

        `__aenter__` may wait, and raises Throttled if the caller sends too many of these documents."""

    async def yield_to_others(self, caller: CallerT) -> None:
        """Lets requests of other callers run. It is called between two steps of parsing and validating a document."""

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


def origin_forbidden(origin: str) -> Forbidden:
    return Forbidden(f"web pages of {origin[:200]} may not call this API; an operator can allow the origin")
