"""An endpoint for tests: the bookshop schema, for callers with any bearer token."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any

from starlette.applications import Starlette

from keyfence.errors import Forbidden, Unauthenticated
from keyfence.graphql.executor import GraphQLExecutor, RequestInfo
from keyfence.http.cors import CorsPolicy
from keyfence.http.graphql_api import origin_forbidden
from keyfence.http.graphql_endpoint import NO_OTHER_ORIGINS, GraphQLEndpoint
from keyfence.http.metrics import Metrics
from keyfence.http.request_body import MAX_BODY_BYTES
from keyfence.http.response import HttpResponse
from keyfence.http.routes import build_app
from tests.service.graphql.bookshop_schema import bookshop

TOKEN = "Bearer ada"


class BookshopApi:
    """An API without quotas and revocations. Tests replace single steps with keyword arguments."""

    def __init__(self, **steps: Any) -> None:
        vars(self).update(steps)

    async def authenticate(self, authorization: str | None) -> str:
        if authorization is None or not authorization.startswith("Bearer ") or " " in authorization[7:]:
            raise Unauthenticated("send a bearer token")
        return authorization.removeprefix("Bearer ")

    def check_origin(self, caller: str, origin: str) -> None:
        if (caller, origin) != ("ada", "https://ada.example"):
            raise origin_forbidden(origin)

    def may_introspect(self, caller: str) -> bool:
        return caller == "ada"

    def admit_new_document(self, _caller: str) -> AbstractAsyncContextManager[None]:
        return nullcontext()

    async def yield_to_others(self, caller: str) -> None:
        pass

    def charge_cpu(self, _caller: str, _seconds: float) -> None:
        pass

    def admit(self, _caller: str, _request: RequestInfo | None) -> AbstractAsyncContextManager[None]:
        return nullcontext()

    async def check_revocation(self, caller: str, *, may_write: bool) -> None:
        pass

    def make_context(self, caller: str, request: RequestInfo) -> str:
        if caller == "stranger":
            raise Forbidden("not here")
        return f"{caller} {request.kind.value} {request.operation_name} {request.request_id}"

    def cost(self, _caller: str) -> Mapping[str, object] | None:
        return None


def endpoint(
    *,
    metrics: Metrics | None = None,
    graphiql: HttpResponse | None = None,
    cors: CorsPolicy = NO_OTHER_ORIGINS,
    max_body_bytes: int = MAX_BODY_BYTES,
    **steps: Any,
) -> GraphQLEndpoint:
    return GraphQLEndpoint(
        BookshopApi(**steps),
        GraphQLExecutor(bookshop),
        metrics or Metrics(),
        graphiql=graphiql,
        cors=cors,
        max_body_bytes=max_body_bytes,
    )


async def always_ready() -> None:
    pass


def bookshop_app(**changes: Any) -> Starlette:
    metrics = Metrics()
    return build_app(
        endpoints={"/graphql": endpoint(metrics=metrics, **changes)}, check_ready=always_ready, metrics=metrics
    )
