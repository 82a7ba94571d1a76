"""The bookshop, opened to callers who say who they are."""

from typing import Any

from starlette.applications import Starlette

from keyfence.errors import Forbidden, Unauthenticated
from keyfence.graphql.executor import GraphQLExecutor, RequestInfo
from keyfence.http.graphql_endpoint import GraphQLEndpoint
from keyfence.http.metrics import Metrics
from keyfence.http.routes import build_app
from tests.unit.graphql.bookshop import bookshop

TOKEN = "Bearer ada"


async def authenticate(authorization: str | None) -> str:
    if authorization is None or not authorization.startswith("Bearer ") or " " in authorization[7:]:
        raise Unauthenticated("say who you are")
    return authorization.removeprefix("Bearer ")


def context(caller: str, info: RequestInfo) -> str:
    if caller == "stranger":
        raise Forbidden("not here")
    return f"{caller} {info.kind.value} {info.operation_name} {info.request_id}"


def endpoint(**changes: Any) -> GraphQLEndpoint[str, str]:
    given: dict[str, Any] = {
        "authenticate": authenticate,
        "executor": GraphQLExecutor(bookshop),
        "context": context,
        "introspection": lambda caller: caller == "ada",
    }
    return GraphQLEndpoint(**(given | changes))


async def ready() -> str | None:
    return None


def shop(**changes: Any) -> Starlette:
    metrics = Metrics()
    return build_app(endpoints={"/graphql": endpoint(metrics=metrics, **changes)}, ready=ready, metrics=metrics)
