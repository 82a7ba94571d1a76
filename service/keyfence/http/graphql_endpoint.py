"""`GraphQLEndpoint`: turns one HTTP request into one HTTP response, and defines the order of the steps."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil
from typing import Any

from graphql import OperationType
from starlette.types import Receive, Scope, Send

from keyfence.errors import KeyfenceError, Throttled, Unauthenticated
from keyfence.graphql.error_masking import InvalidRequest, RenderedError, error_codes, render_keyfence_error
from keyfence.graphql.executor import GraphQLExecutor, GraphQLRequest, GraphQLResult, PreparedOperation, RequestInfo
from keyfence.http.cors import CorsPolicy
from keyfence.http.graphql_api import GraphQLApi
from keyfence.http.media_types import MediaType, is_json, negotiate, prefers_html
from keyfence.http.metrics import Metrics
from keyfence.http.middleware import header, request_id_of, skip_access_log
from keyfence.http.request_body import MAX_BODY_BYTES, parse_body, parse_query_string, read_body
from keyfence.http.response import (
    STATUS_BY_CODE,
    Headers,
    HttpError,
    HttpResponse,
    error_response,
    json_response,
    method_not_allowed,
)

NO_STEP_LEFT = object()
NO_OTHER_ORIGINS = CorsPolicy()


@dataclass(frozen=True, slots=True)
class ParsedRequest:
    """A valid GraphQL request, ready to be executed."""

    request: GraphQLRequest
    prepared: PreparedOperation
    info: RequestInfo


class GraphQLEndpoint:
    """Serves one GraphQL API over HTTP. A browser that asks for HTML gets the page `graphiql`, if it is set."""

    def __init__(
        self,
        api: GraphQLApi[Any, Any],
        executor: GraphQLExecutor,
        metrics: Metrics,
        *,
        graphiql: HttpResponse | None = None,
        cors: CorsPolicy = NO_OTHER_ORIGINS,
        max_body_bytes: int = MAX_BODY_BYTES,
    ) -> None:
        self._api = api
        self._executor = executor
        self._metrics = metrics
        self._graphiql = graphiql
        self._cors = cors
        self._max_body_bytes = max_body_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        accept = header(scope, b"accept")
        origin = header(scope, b"origin")
        if self._graphiql and scope["method"] == "GET" and prefers_html(accept):
            response = self._graphiql
        elif origin is not None and scope["method"] == "OPTIONS":
            response = self._cors.preflight(origin)
        else:
            response = self._cors.add_headers(await self._respond(scope, receive, negotiate(accept)), origin)
        await response.send(send)

    async def _respond(self, scope: Scope, receive: Receive, media: MediaType | None) -> HttpResponse:
        """Returns the response of the request. Turns every error that the caller may see into a response.

        `media` is None if the caller accepts none of the media types of responses."""
        try:
            return await self._run(scope, receive, media)
        except HttpError as error:
            return self._failure(error.errors, error.status, media, error.headers)
        except InvalidRequest as error:
            return self._failure(error.errors, 400 if media is MediaType.GRAPHQL else 200, media)
        except KeyfenceError as error:
            if isinstance(error, Throttled):
                skip_access_log(scope)
            errors = (render_keyfence_error(error, request_id_of(scope)),)
            return self._failure(errors, STATUS_BY_CODE[error.code], media, _error_headers(scope, error))

    async def _run(self, scope: Scope, receive: Receive, media: MediaType | None) -> HttpResponse:
        if media is None:
            raise HttpError(406, f"the Accept header must allow {MediaType.GRAPHQL} or {MediaType.JSON}")
        _check_method(scope)
        api = self._api
        caller = await api.authenticate(header(scope, b"authorization"))
        origin = header(scope, b"origin")
        if origin is not None and not self._cors.allows(origin, header(scope, b"host")):
            api.check_origin(caller, origin)
        try:
            parsed = await self._parse(scope, receive, caller)
        except (HttpError, InvalidRequest):
            # A caller with a revoked token must not learn what is wrong with the request, so check the token first.
            async with api.admit(caller, None):
                await api.check_revocation(caller, may_write=False)
            raise
        async with api.admit(caller, parsed.info):
            result = await self._execute(parsed, caller)
        if result.errors:
            self._metrics.count_errors(error_codes(result.errors))
        return json_response(result.body(self._extensions(parsed.request, caller)), media=media)

    async def _parse(self, scope: Scope, receive: Receive, caller: object) -> ParsedRequest:
        is_get = scope["method"] == "GET"
        body = b"" if is_get else await read_body(scope, receive, self._max_body_bytes)
        with self._charge_cpu(caller):
            request = parse_query_string(scope["query_string"]) if is_get else parse_body(body)
        if request.query not in self._executor.documents:
            await self._parse_new_document(request.query, caller)
        with self._charge_cpu(caller):
            prepared = self._executor.prepare(request, may_introspect=self._api.may_introspect(caller))
        operation = prepared.operation
        if is_get and operation.kind is not OperationType.QUERY:
            raise method_not_allowed("GET serves only queries: send a mutation with POST", "POST")
        info = RequestInfo(
            request_id=request_id_of(scope),
            kind=operation.kind,
            is_mutation=operation.kind is OperationType.MUTATION,
            operation_name=operation.name,
            root_field=operation.root_field,
        )
        return ParsedRequest(request, prepared, info)

    async def _parse_new_document(self, text: str, caller: object) -> None:
        """Parses and validates the document in short steps. Requests of other callers run between the steps."""
        async with self._api.admit_new_document(caller):
            steps = self._executor.documents.parse_in_steps(text)
            while self._run_step(steps, caller):
                await self._api.yield_to_others(caller)

    def _run_step(self, steps: Iterator[None], caller: object) -> bool:
        """Returns False if there was no step left."""
        with self._charge_cpu(caller):
            return next(steps, NO_STEP_LEFT) is not NO_STEP_LEFT

    @contextmanager
    def _charge_cpu(self, caller: object) -> Iterator[None]:
        """Charges the CPU time of the `with` block to the caller, also if the block raises an error."""
        started_at = time.thread_time()
        try:
            yield
        finally:
            self._api.charge_cpu(caller, time.thread_time() - started_at)

    async def _execute(self, parsed: ParsedRequest, caller: object) -> GraphQLResult:
        """Executes a mutation after the revocation check, and a query during the check.

        Raises Unauthenticated if the token is revoked. If the query has a result by then, the result is dropped."""
        revocation_check = asyncio.ensure_future(self._api.check_revocation(caller, may_write=parsed.info.is_mutation))
        try:
            if parsed.info.is_mutation:
                await revocation_check
            context = self._api.make_context(caller, parsed.info)
            return await self._executor.execute(parsed.prepared, context, request_id=parsed.info.request_id)
        finally:
            await revocation_check

    def _extensions(self, request: GraphQLRequest, caller: object) -> dict[str, object] | None:
        if request.extensions.get("cost") is not True:
            return None
        cost = self._api.cost(caller)
        return None if cost is None else {"cost": cost}

    def _failure(
        self, errors: tuple[RenderedError, ...], status: int, media: MediaType | None, headers: Headers = ()
    ) -> HttpResponse:
        self._metrics.count_errors(error_codes(errors))
        return error_response(*errors, status=status, media=media or MediaType.JSON, headers=headers)


def _check_method(scope: Scope) -> None:
    if scope["method"] not in {"GET", "POST"}:
        raise method_not_allowed("GraphQL is served by GET and POST", "GET", "POST")
    if scope["method"] == "POST" and not is_json(header(scope, b"content-type")):
        raise HttpError(415, "the body must be application/json in UTF-8", headers=[(b"accept", b"application/json")])


def _error_headers(scope: Scope, error: KeyfenceError) -> Headers:
    """Returns the HTTP headers that belong to an error: when to retry, or how to authenticate."""
    retry_after_ms = error.extensions.get("retryAfterMs")
    if isinstance(retry_after_ms, int):
        return [(b"retry-after", str(ceil(retry_after_ms / 1000)).encode())]
    if not isinstance(error, Unauthenticated):
        return ()
    has_token = header(scope, b"authorization") is not None
    return [(b"www-authenticate", b'Bearer error="invalid_token"' if has_token else b"Bearer")]
