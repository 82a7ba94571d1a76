"""A DynamoDB call, step by step; the index key check."""

from collections.abc import Awaitable, Callable

from keyfence_iam.authorization import NotUnderstood, Place, TableKeys, UnknownTable, expand, index_values
from keyfence_iam.evaluator.decision import Denied, denial
from keyfence_iam.evaluator.request import Authorisation
from keyfence_iam.gate.account.session import first_denied
from keyfence_iam.gate.call import Call
from keyfence_iam.gate.denials import Denial
from keyfence_iam.gate.engine.client import EngineLost, Upstream, forward
from keyfence_iam.gate.engine.reads import Schemas
from keyfence_iam.gate.fault_injection import DYNAMODB, HungUp, disturb
from keyfence_iam.gate.http.messages import Answer, Refusal, error
from keyfence_iam.gate.state import Rules
from keyfence_iam.gate.throughput.limiter import Limiter
from keyfence_iam.strict_json import Unreadable, parameters
from keyfence_iam.tenant import CONTROL, TENANT_TAG, tenant_boundary


def leaving(call: Call) -> str | None:
    """Why this write leaves the boundary: a tenant's, or that of the control plane where no tenant is the caller."""
    tenant = next((value for key, value in call.session.tags.items() if key.casefold() == TENANT_TAG), None)
    boundary = CONTROL if tenant is None else tenant_boundary(tenant)
    try:
        for attribute, value in index_values(call.operation, call.parameters, call.keys):
            if value is None or not value.startswith(boundary):
                return f"the index key attribute {attribute} leaves the caller's boundary {boundary}"
    except NotUnderstood as reason:
        return f"what it writes into indexes is not understood: {reason}"
    return None


def message(session_arn: str, asked: Authorisation, reason: str) -> str:
    """AWS says nothing of the kind, and this does not pretend that it did."""
    return (
        f"User: {session_arn} is not authorized to perform: {asked.action} on resource: {asked.resource}"
        f" (strict gate: {reason})"
    )


Step = Callable[[Call], Awaitable[None]]

ALTERING = frozenset({"CreateTable", "UpdateTable", "DeleteTable"})


class DynamoDB:
    """The steps stand in the order in which a call meets them; one that ends the call raises."""

    def __init__(self, rules: Rules, upstream: Upstream, place: Place) -> None:
        self._rules, self._upstream, self._place = rules, upstream, place
        self._schemas = Schemas(upstream, place.region, TableKeys.described)
        self._limiter = Limiter(upstream, place.region)
        self.steps: tuple[Step, ...] = (
            self._read,
            self._understand,
            self._authorise,
            self._miss,
            self._fence,
            self._disturb,
            self._forward,
            self._lose,
        )

    async def answer(self, call: Call) -> Answer:
        for step in self.steps:
            await step(call)
        assert call.answer is not None
        return call.answer

    async def _read(self, call: Call) -> None:
        try:
            call.parameters = parameters(call.request.body)
        except Unreadable as unreadable:
            raise Refusal(error("SerializationException", str(unreadable))) from unreadable

    async def _understand(self, call: Call) -> None:
        try:
            await self._expand(call)
        except UnknownTable as unknown:
            call.asked, call.missing = unknown.asked, str(unknown)
        except NotUnderstood as reason:
            asked = Authorisation(f"dynamodb:{call.operation}", self._place.table_arn("*"))
            raise self._refusal(call, asked, str(reason)) from reason
        except EngineLost as lost:
            raise Refusal(_engine_lost(lost)) from lost

    async def _expand(self, call: Call) -> None:
        """With the keys at hand first: the engine is asked only for tables that are not among them."""
        try:
            call.keys = self._schemas.known
            call.asked = expand(call.operation, call.parameters, self._place, call.keys)
        except UnknownTable as unknown:
            call.keys = {**call.keys, **await self._schemas.of(unknown.tables)}
            call.asked = expand(call.operation, call.parameters, self._place, call.keys)

    async def _authorise(self, call: Call) -> None:
        request, session, account = call.request, call.session, self._rules.sessions.account
        known = session.context(
            self._rules.sessions.clock(),
            source_ip=request.source_ip,
            secure_transport=request.secure,
            region=self._place.region,
        )
        if denied := first_denied(call.asked, known, session, account):
            asked, decision = denied
            raise self._refusal(call, asked, call.missing or "denied by policies", decision)

    async def _miss(self, call: Call) -> None:
        """A table that is not there is told only to those who might use it, and nothing is forwarded unexamined."""
        if call.missing:
            raise Refusal(error("ResourceNotFoundException", "Requested resource not found"))

    async def _fence(self, call: Call) -> None:
        if self._rules.strict and (reason := leaving(call)):
            asked = call.asked[0]
            raise self._refusal(call, asked, reason, message=message(call.session.arn, asked, reason))

    async def _disturb(self, call: Call) -> None:
        struck = self._rules.faults.striking("dynamodb", call.operation, call.leading_keys)
        call.answer_lost = await disturb(struck, DYNAMODB)

    async def _forward(self, call: Call) -> None:
        """Schemas are forgotten after it: whoever asked in between may have heard the old one."""
        try:
            call.answer = await self._sent(call)
        except EngineLost as lost:
            call.answer = _engine_lost(lost)
        finally:
            if call.operation in ALTERING:
                self._schemas.forget()
                self._limiter.forget()

    async def _sent(self, call: Call) -> Answer:
        """After the faults: what never reaches the engine is charged to no partition."""
        if (limits := self._rules.limits) is None:
            return await forward(call.request, self._upstream)
        return await self._limiter.forward(call, limits)

    async def _lose(self, call: Call) -> None:
        if call.answer_lost:
            raise HungUp

    def _refusal(
        self,
        call: Call,
        asked: Authorisation,
        reason: str,
        decision: Denied | None = None,
        message: str | None = None,
    ) -> Refusal:
        said = message or denial(decision or Denied("identity"), asked, call.session.arn)
        self._rules.denials.add(
            Denial(
                at=self._rules.sessions.clock(),
                session_arn=call.session.arn,
                operation=call.operation,
                action=asked.action,
                resource=asked.resource,
                message=said,
                reason=reason,
                decision=decision,
            )
        )
        return Refusal(error("AccessDeniedException", said))


def _engine_lost(lost: EngineLost) -> Answer:
    """Never sent again from here: the engine may have acted, and the caller knows whether that may be done twice."""
    return error("InternalServerError", f"(gate: the engine is lost: {lost})", 500)
