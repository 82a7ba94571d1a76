"""ASGI app: health, signature, dispatch by service, traffic report."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from keyfence_iam.authorization import ArnScope
from keyfence_iam.dynamodb.operations import CONTENT_TYPE, operation_of_target
from keyfence_iam.gate import sts_api
from keyfence_iam.gate.account.session import Session
from keyfence_iam.gate.call import DynamoDBCall
from keyfence_iam.gate.dynamodb import DynamoDBApi
from keyfence_iam.gate.engine.client import EngineClient
from keyfence_iam.gate.fault_injection import STS, ConnectionDropped, inject
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
from keyfence_iam.gate.role_policies import VERSION, RolePolicyApi
from keyfence_iam.gate.sigv4 import SignatureError, SignatureVerifier
from keyfence_iam.gate.state import GateState
from keyfence_iam.roles.names import PROVISIONER

TRAFFIC = b"/traffic"
_DENIED = "Only the provisioner sees the traffic of partitions: their keys may name people."


def traffic_response(session: Session, rules: GateState) -> HttpResponse:
    """Neither tenants nor the roles of a running service, nor a session that was restricted in any way."""
    seer = f"{rules.sessions.account.deployment.role_prefix}{PROVISIONER}"
    if session.role.name != seer or session.policies is not None:
        return dynamodb_error("AccessDeniedException", _DENIED)
    if rules.limits is None:
        return dynamodb_error("ResourceNotFoundException", "This gate runs without partition limits.", 404)
    return json_response(rules.limits.seen(), 200)


Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

ABORT_CONNECTION = "keyfence.hang_up"
HEALTHY = HttpResponse(200, [(b"content-type", b"text/plain"), (b"content-length", b"8")], b"healthy\n")
ENGINES_REGIONS = frozenset({"dynoxide", "ddblocal"})
"""Written into ARNs by engines that do not care in which region they are; AWS has none of these names."""
CLOSE: Headers = [(b"connection", b"close")]


class GateApp:
    """What goes wrong in here in an unforeseen way is the server's 500: nothing has been forwarded then."""

    def __init__(self, rules: GateState, upstream: EngineClient) -> None:
        deployment = rules.sessions.account.deployment
        self._rules, self._upstream = rules, upstream
        self._verifier = SignatureVerifier(rules.sessions, region=deployment.region)
        self._inline = RolePolicyApi(rules)
        self._dynamodb = DynamoDBApi(rules, upstream, ArnScope.of(deployment, ENGINES_REGIONS))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            request = await read_request(scope, receive)
            answer = await self._answer(request)
        except (ConnectionDropped, ClientDisconnected):
            await _hang_up(scope, receive)
            return
        except BodyTooLarge:
            answer = _closing(dynamodb_error("RequestEntityTooLargeException", status=413))
        await send({"type": "http.response.start", "status": answer.status, "headers": answer.headers})
        await send({"type": "http.response.body", "body": answer.body})

    def close(self) -> None:
        self._upstream.close()

    async def _answer(self, request: HttpRequest) -> HttpResponse:
        try:
            return await self._dispatched(request)
        except ResponseError as refusal:
            return refusal.answer

    async def _dispatched(self, request: HttpRequest) -> HttpResponse:
        if request.method == "GET" and request.path in {b"/", TRAFFIC}:
            return HEALTHY if request.path == b"/" else self._traffic(request)
        service = _service(request)
        try:
            session = self._verifier.verify(request, service)
        except SignatureError as reason:
            return reason.answer(service)
        if request.method != "POST" or request.path != b"/" or request.query:
            return dynamodb_error("UnknownOperationException", status=404)
        if service == "sts":
            return await self._sts(request, session)
        if service == "iam":
            return await self._inline.answer(request, session)
        return await self._dynamodb.answer(
            DynamoDBCall(request=request, operation=_operation(request), session=session)
        )

    def _traffic(self, request: HttpRequest) -> HttpResponse:
        try:
            session = self._verifier.verify(request, "dynamodb")
        except SignatureError as reason:
            return reason.answer("dynamodb")
        return traffic_response(session, self._rules)

    async def _sts(self, request: HttpRequest, session: Session) -> HttpResponse:
        answer = sts_api.sts_response(request, session, self._rules.sessions)
        if answer.status == 200:
            struck = self._rules.faults.due_faults("sts", sts_api.action_of(request.body))
            if await inject(struck, STS):
                raise ConnectionDropped
        return answer


def _service(request: HttpRequest) -> str:
    """Told by what is asked: AWS has a host for each, and here they share one."""
    if any(name == b"x-amz-target" for name, _ in request.headers):
        return "dynamodb"
    return "iam" if QueryForm.find_version(request.body) == VERSION else "sts"


def _operation(request: HttpRequest) -> str:
    if not CONTENT_TYPE.fullmatch(request.header(b"content-type") or b""):
        raise ResponseError(dynamodb_error("UnknownOperationException", status=404))
    operation = operation_of_target(request.header(b"x-amz-target") or b"")
    if operation is None or request.header(b"content-encoding") is not None:
        raise ResponseError(dynamodb_error("UnknownOperationException"))
    return operation


async def _hang_up(scope: Scope, receive: Receive) -> None:
    """The server learns of it as of any caller that goes away, and expects no answer then."""
    scope["extensions"][ABORT_CONNECTION]["now"]()
    while (await receive())["type"] != "http.disconnect":
        pass


def _closing(answer: HttpResponse) -> HttpResponse:
    """What was not read of the request would be taken for the next one."""
    return HttpResponse(answer.status, [*answer.headers, *CLOSE], answer.body)
