"""`GateApp`: the ASGI application of the gate.

It verifies the signature of a request and passes the request to the API of its AWS service: DynamoDB, STS or IAM.
"""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from keyfence_iam.authorization import ArnScope
from keyfence_iam.dynamodb.operations import CONTENT_TYPE, operation_of_target
from keyfence_iam.gate import sts_api
from keyfence_iam.gate.account.session import Session
from keyfence_iam.gate.dynamodb_api import DynamoDBApi
from keyfence_iam.gate.dynamodb_call import DynamoDBCall
from keyfence_iam.gate.engine.engine_client import EngineClient
from keyfence_iam.gate.fault_injection import STS_ERRORS, ConnectionDropped, inject
from keyfence_iam.gate.http.messages import (
    BodyTooLarge,
    ClientDisconnected,
    Headers,
    HttpRequest,
    HttpResponse,
    Receive,
    ResponseError,
    Scope,
    dynamodb_error,
    json_response,
    read_request,
)
from keyfence_iam.gate.http.query_protocol import QueryForm
from keyfence_iam.gate.iam_api import IAM_VERSION, RolePolicyApi
from keyfence_iam.gate.settings import GateSettings
from keyfence_iam.gate.sigv4 import SignatureError, SignatureVerifier

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

TRAFFIC_PATH = b"/traffic"
"""The path of the report on the traffic of partitions, which only the gate has. AWS has no such path."""
ABORT_CONNECTION = "keyfence.abort_connection"
"""The name of the ASGI extension with which the application closes a connection without a response."""
HEALTHY_RESPONSE = HttpResponse(200, [(b"content-type", b"text/plain"), (b"content-length", b"8")], b"healthy\n")
ENGINE_REGIONS = frozenset({"dynoxide", "ddblocal"})
"""The names that local engines write into ARNs in the place of the region. No region of AWS has such a name."""
CLOSE_CONNECTION_HEADERS: Headers = [(b"connection", b"close")]


class GateApp:
    """Answers every HTTP request of the gate. The server answers an unexpected exception with status 500."""

    def __init__(self, settings: GateSettings, engine: EngineClient) -> None:
        account = settings.session_issuer.account
        arn_scope = ArnScope(
            account=account.id, region=account.region, partition=account.partition, region_aliases=ENGINE_REGIONS
        )
        self._settings, self._engine = settings, engine
        self._verifier = SignatureVerifier(settings.session_issuer, region=account.region)
        self._iam = RolePolicyApi(settings)
        self._dynamodb = DynamoDBApi(settings, engine, arn_scope)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            request = await read_request(scope, receive)
            response = await self._respond(request)
        except (ConnectionDropped, ClientDisconnected):
            await _abort(scope, receive)
            return
        except BodyTooLarge:
            response = _with_close_header(dynamodb_error("RequestEntityTooLargeException", status=413))
        await send({"type": "http.response.start", "status": response.status, "headers": response.headers})
        await send({"type": "http.response.body", "body": response.body})

    def close(self) -> None:
        self._engine.close()

    async def _respond(self, request: HttpRequest) -> HttpResponse:
        try:
            return await self._dispatch(request)
        except ResponseError as error:
            return error.response

    async def _dispatch(self, request: HttpRequest) -> HttpResponse:
        if request.method == "GET" and request.path in {b"/", TRAFFIC_PATH}:
            return HEALTHY_RESPONSE if request.path == b"/" else self._traffic_report(request)
        service = _requested_service(request)
        try:
            session = self._verifier.verify(request, service)
        except SignatureError as error:
            return error.response(service)
        if request.method != "POST" or request.path != b"/" or request.query:
            return dynamodb_error("UnknownOperationException", status=404)
        if service == "sts":
            return await self._call_sts(request, session)
        if service == "iam":
            return await self._iam.respond(request, session)
        return await self._dynamodb.respond(
            DynamoDBCall(request=request, operation=_requested_operation(request), session=session)
        )

    def _traffic_report(self, request: HttpRequest) -> HttpResponse:
        try:
            session = self._verifier.verify(request, "dynamodb")
        except SignatureError as error:
            return error.response("dynamodb")
        return traffic_response(session, self._settings)

    async def _call_sts(self, request: HttpRequest, session: Session) -> HttpResponse:
        response = sts_api.sts_response(request, session, self._settings.session_issuer)
        if response.status == 200:
            faults = self._settings.faults.due_faults("sts", sts_api.action_of(request.body))
            if await inject(faults, STS_ERRORS):
                raise ConnectionDropped
        return response


def traffic_response(session: Session, settings: GateSettings) -> HttpResponse:
    """Returns the traffic report, or an error if the session may not read it.

    Only sessions of the traffic role without session policies may read it: partition keys can contain personal data.
    """
    role, prefix = settings.traffic_role, settings.session_issuer.account.role_prefix
    if role is None:
        return dynamodb_error("AccessDeniedException", "This gate lets no role read the traffic of partitions.")
    if session.role.name != f"{prefix}{role}" or session.policies is not None:
        message = f"Only the role {role} may read the traffic of partitions, in a session without session policies."
        return dynamodb_error("AccessDeniedException", message)
    if settings.limits is None:
        return dynamodb_error("ResourceNotFoundException", "This gate runs without partition limits.", 404)
    return json_response(settings.limits.traffic_report(), 200)


def _requested_service(request: HttpRequest) -> str:
    """Returns `dynamodb`, `sts` or `iam`.

    AWS has a host for each service. The gate has one host for all services and looks at the headers and the body.
    """
    if any(name == b"x-amz-target" for name, _ in request.headers):
        return "dynamodb"
    return "iam" if QueryForm.find_version(request.body) == IAM_VERSION else "sts"


def _requested_operation(request: HttpRequest) -> str:
    if not CONTENT_TYPE.fullmatch(request.find_header(b"content-type") or b""):
        raise ResponseError(dynamodb_error("UnknownOperationException", status=404))
    operation = operation_of_target(request.find_header(b"x-amz-target") or b"")
    if operation is None or request.find_header(b"content-encoding") is not None:
        raise ResponseError(dynamodb_error("UnknownOperationException"))
    return operation


async def _abort(scope: Scope, receive: Receive) -> None:
    """Closes the connection without a response.

    uvicorn expects no response after the event `http.disconnect`, so this function waits for the event.
    """
    scope["extensions"][ABORT_CONNECTION]["now"]()
    while (await receive())["type"] != "http.disconnect":
        pass


def _with_close_header(response: HttpResponse) -> HttpResponse:
    """Returns the response with the header that closes the connection.

    The body was not read to its end. On an open connection, its rest would be read as the next request.
    """
    return HttpResponse(response.status, [*response.headers, *CLOSE_CONNECTION_HEADERS], response.body)
