"""GraphQL over HTTP: one endpoint, from the bytes of a request to the bytes of its answer."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from math import ceil
from typing import Generic, TypeVar

from graphql import OperationType
from starlette.types import Receive, Scope, Send

from keyfence.errors import KeyfenceError, Throttled, Unauthenticated
from keyfence.graphql.errors import InvalidRequest, Rendered, codes, render
from keyfence.graphql.executor import Answer, GraphQLExecutor, GraphQLRequest, PreparedOperation, RequestInfo
from keyfence.http.media_types import MediaType, is_json, negotiate, prefers_html
from keyfence.http.metrics import Metrics
from keyfence.http.middleware import header, request_id_of, skip_access_log
from keyfence.http.request import BODY_LIMIT, from_body, from_query_string, read_body
from keyfence.http.response import (
    STATUS_BY_CODE,
    Headers,
    HttpError,
    HttpResponse,
    error_response,
    json_response,
    method_not_allowed,
)

P = TypeVar("P")
C = TypeVar("C")


Turn = AbstractAsyncContextManager[None]


async def _believe(_: object) -> None:
    """No second look."""


def _at_once(_: object, __: object) -> Turn:
    return nullcontext()


@dataclass(frozen=True, slots=True)
class ParsedRequest:
    """A request that was read and found good."""

    request: GraphQLRequest
    prepared: PreparedOperation
    info: RequestInfo


class GraphQLEndpoint(Generic[P, C]):
    """Serves a schema to those whom `authenticate` lets in.

    `authenticate` gets the Authorization header. `turn` is taken before anything is asked of DynamoDB, also for a
    request that is not understood. `confirm` takes a second look, during which a query is already executed: only its
    answer waits. `context` makes what resolvers see, once it is known whether they will write. `cost` tells those who
    ask for it what their request has cost.
    `introspection` tells who may read the schema. `page` is shown to browsers that come without a query.
    """

    def __init__(
        self,
        *,
        authenticate: Callable[[str | None], Awaitable[P]],
        executor: GraphQLExecutor,
        context: Callable[[P, RequestInfo], C],
        turn: Callable[[P, RequestInfo | None], Turn] = _at_once,
        confirm: Callable[[P], Awaitable[None]] = _believe,
        cost: Callable[[P], Mapping[str, object]] | None = None,
        introspection: Callable[[P], bool] = lambda _: False,
        page: Callable[[], str] | None = None,
        metrics: Metrics | None = None,
        body_limit: int = BODY_LIMIT,
    ) -> None:
        self._authenticate = authenticate
        self._executor = executor
        self._context = context
        self._turn = turn
        self._confirm = confirm
        self._cost = cost
        self._introspection = introspection
        self._page = page
        self._metrics = metrics or Metrics()
        self._body_limit = body_limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        accept = header(scope, b"accept")
        if self._page and scope["method"] == "GET" and prefers_html(accept):
            reply = HttpResponse(body=self._page().encode(), content_type="text/html; charset=utf-8")
        else:
            reply = await self._reply(scope, receive, negotiate(accept))
        await reply.send(send)

    async def _reply(self, scope: Scope, receive: Receive, media: MediaType | None) -> HttpResponse:
        try:
            return await self._answer(scope, receive, media or _not_acceptable())
        except HttpError as refusal:
            return self._failure(refusal.errors, refusal.status, media, refusal.headers)
        except InvalidRequest as refused:
            return self._failure(refused.errors, 400 if media is MediaType.GRAPHQL else 200, media)
        except KeyfenceError as error:
            if isinstance(error, Throttled):
                skip_access_log(scope)
            errors = (render(error, request_id_of(scope)),)
            return self._failure(errors, STATUS_BY_CODE[error.code], media, _advice(scope, error))

    async def _answer(self, scope: Scope, receive: Receive, media: MediaType) -> HttpResponse:
        _check_method(scope)
        principal = await self._authenticate(header(scope, b"authorization"))
        try:
            asked = await self._asked(scope, receive, principal)
        except (HttpError, InvalidRequest):
            async with self._turn(principal, None):
                await self._confirm(principal)
            raise
        async with self._turn(principal, asked.info):
            answer = await self._executed(asked, principal)
        self._metrics.errors(codes(answer.errors))
        return json_response(answer.body(self._extensions(asked.request, principal)), media=media)

    async def _asked(self, scope: Scope, receive: Receive, principal: P) -> ParsedRequest:
        request = await self._request(scope, receive)
        prepared = self._executor.prepare(request, introspection=self._introspection(principal))
        operation = prepared.operation
        _check_kind(scope, operation.kind)
        info = RequestInfo(
            request_id=request_id_of(scope), kind=operation.kind, operation_name=operation.name, root=operation.root
        )
        return ParsedRequest(request, prepared, info)

    async def _executed(self, asked: ParsedRequest, principal: P) -> Answer:
        confirmed = asyncio.ensure_future(self._confirm(principal))
        try:
            if asked.info.mutates:
                await confirmed
            context = self._context(principal, asked.info)
            return await self._executor.execute(asked.prepared, context, request_id=asked.info.request_id)
        finally:
            await confirmed

    def _extensions(self, request: GraphQLRequest, principal: P) -> dict[str, object] | None:
        return {"cost": self._cost(principal)} if self._cost and request.extensions.get("cost") is True else None

    async def _request(self, scope: Scope, receive: Receive) -> GraphQLRequest:
        if scope["method"] == "GET":
            return from_query_string(scope["query_string"])
        return from_body(await read_body(scope, receive, self._body_limit))

    def _failure(
        self, errors: tuple[Rendered, ...], status: int, media: MediaType | None, headers: Headers = ()
    ) -> HttpResponse:
        self._metrics.errors(codes(errors))
        return error_response(*errors, status=status, media=media or MediaType.JSON, headers=headers)


def _check_method(scope: Scope) -> None:
    if scope["method"] not in {"GET", "POST"}:
        raise method_not_allowed("GraphQL is served by GET and POST", "GET", "POST")
    if scope["method"] == "POST" and not is_json(header(scope, b"content-type")):
        raise HttpError(415, "the body must be application/json in UTF-8", headers=[(b"accept", b"application/json")])


def _check_kind(scope: Scope, kind: OperationType) -> None:
    if scope["method"] == "GET" and kind is not OperationType.QUERY:
        raise method_not_allowed("only queries are served by GET", "POST")


def _not_acceptable() -> MediaType:
    raise HttpError(406, f"the answer can be {MediaType.GRAPHQL} or {MediaType.JSON}")


def _advice(scope: Scope, error: KeyfenceError) -> Headers:
    """What HTTP has headers for: how to authenticate, and when to come again."""
    wait = error.extensions.get("retryAfterMs")
    if isinstance(wait, int):
        return [(b"retry-after", str(ceil(wait / 1000)).encode())]
    if not isinstance(error, Unauthenticated):
        return ()
    given = header(scope, b"authorization") is not None
    return [(b"www-authenticate", b'Bearer error="invalid_token"' if given else b"Bearer")]
