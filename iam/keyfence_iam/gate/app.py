"""ASGI app: health, signature, dispatch by service, traffic report."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from keyfence_iam.authorization import Place
from keyfence_iam.dynamodb.operations import CONTENT_TYPE, operation_of
from keyfence_iam.gate import sts_api
from keyfence_iam.gate.account.session import Session
from keyfence_iam.gate.call import Call
from keyfence_iam.gate.dynamodb import DynamoDB
from keyfence_iam.gate.engine.client import Upstream
from keyfence_iam.gate.fault_injection import STS, HungUp, disturb
from keyfence_iam.gate.http.messages import (
    Answer,
    Gone,
    Headers,
    Receive,
    Refusal,
    Request,
    Scope,
    TooLarge,
    error,
    json_answer,
    received,
)
from keyfence_iam.gate.http.query_protocol import Form
from keyfence_iam.gate.role_policies import VERSION, Inline
from keyfence_iam.gate.sigv4 import NotBelieved, Verifier
from keyfence_iam.gate.state import Rules
from keyfence_iam.roles.names import PROVISIONER

TRAFFIC = b"/traffic"
_DENIED = "Only the provisioner sees the traffic of partitions: their keys may name people."


def answer(session: Session, rules: Rules) -> Answer:
    """Neither tenants nor the roles of a running service, nor a session that was restricted in any way."""
    seer = f"{rules.sessions.account.deployment.role_prefix}{PROVISIONER}"
    if session.role.name != seer or session.policies is not None:
        return error("AccessDeniedException", _DENIED)
    if rules.limits is None:
        return error("ResourceNotFoundException", "This gate runs without partition limits.", 404)
    return json_answer(rules.limits.seen(), 200)


Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

HANG_UP = "keyfence.hang_up"
HEALTHY = Answer(200, [(b"content-type", b"text/plain"), (b"content-length", b"8")], b"healthy\n")
ENGINES_REGIONS = frozenset({"dynoxide", "ddblocal"})
"""Written into ARNs by engines that do not care in which region they are; AWS has none of these names."""
CLOSE: Headers = [(b"connection", b"close")]


class Application:
    """What goes wrong in here in an unforeseen way is the server's 500: nothing has been forwarded then."""

    def __init__(self, rules: Rules, upstream: Upstream) -> None:
        deployment = rules.sessions.account.deployment
        self._rules, self._upstream = rules, upstream
        self._verifier = Verifier(rules.sessions, region=deployment.region)
        self._inline = Inline(rules)
        self._dynamodb = DynamoDB(rules, upstream, Place.of(deployment, ENGINES_REGIONS))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            request = await received(scope, receive)
            answer = await self._answer(request)
        except (HungUp, Gone):
            await _hang_up(scope, receive)
            return
        except TooLarge:
            answer = _closing(error("RequestEntityTooLargeException", status=413))
        await send({"type": "http.response.start", "status": answer.status, "headers": answer.headers})
        await send({"type": "http.response.body", "body": answer.body})

    def close(self) -> None:
        self._upstream.close()

    async def _answer(self, request: Request) -> Answer:
        try:
            return await self._dispatched(request)
        except Refusal as refusal:
            return refusal.answer

    async def _dispatched(self, request: Request) -> Answer:
        if request.method == "GET" and request.path in {b"/", TRAFFIC}:
            return HEALTHY if request.path == b"/" else self._traffic(request)
        service = _service(request)
        try:
            session = self._verifier.verify(request, service)
        except NotBelieved as reason:
            return reason.answer(service)
        if request.method != "POST" or request.path != b"/" or request.query:
            return error("UnknownOperationException", status=404)
        if service == "sts":
            return await self._sts(request, session)
        if service == "iam":
            return await self._inline.answer(request, session)
        return await self._dynamodb.answer(Call(request=request, operation=_operation(request), session=session))

    def _traffic(self, request: Request) -> Answer:
        try:
            session = self._verifier.verify(request, "dynamodb")
        except NotBelieved as reason:
            return reason.answer("dynamodb")
        return answer(session, self._rules)

    async def _sts(self, request: Request, session: Session) -> Answer:
        answer = sts_api.answer(request, session, self._rules.sessions)
        if answer.status == 200:
            struck = self._rules.faults.striking("sts", sts_api.operation(request.body))
            if await disturb(struck, STS):
                raise HungUp
        return answer


def _service(request: Request) -> str:
    """Told by what is asked: AWS has a host for each, and here they share one."""
    if any(name == b"x-amz-target" for name, _ in request.headers):
        return "dynamodb"
    return "iam" if Form.find_version(request.body) == VERSION else "sts"


def _operation(request: Request) -> str:
    if not CONTENT_TYPE.fullmatch(request.header(b"content-type") or b""):
        raise Refusal(error("UnknownOperationException", status=404))
    operation = operation_of(request.header(b"x-amz-target") or b"")
    if operation is None or request.header(b"content-encoding") is not None:
        raise Refusal(error("UnknownOperationException"))
    return operation


async def _hang_up(scope: Scope, receive: Receive) -> None:
    """The server learns of it as of any caller that goes away, and expects no answer then."""
    scope["extensions"][HANG_UP]["now"]()
    while (await receive())["type"] != "http.disconnect":
        pass


def _closing(answer: Answer) -> Answer:
    """What was not read of the request would be taken for the next one."""
    return Answer(answer.status, [*answer.headers, *CLOSE], answer.body)
