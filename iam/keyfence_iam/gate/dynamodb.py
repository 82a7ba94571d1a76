"""A DynamoDB call, step by step; the index key check."""

from collections.abc import Awaitable, Callable

from keyfence_iam.authorization import (
    ArnScope,
    TableSchema,
    UnknownTable,
    UnsupportedRequest,
    authorizations_for,
    index_keys_written,
)
from keyfence_iam.evaluator.decision import Denied, access_denied_message
from keyfence_iam.evaluator.request import AuthorizationRequest
from keyfence_iam.gate.account.session import first_denied
from keyfence_iam.gate.call import DynamoDBCall
from keyfence_iam.gate.denials import DeniedCall
from keyfence_iam.gate.engine.client import EngineClient, EngineUnreachable, forward
from keyfence_iam.gate.engine.reads import TableSchemaCache
from keyfence_iam.gate.fault_injection import DYNAMODB, ConnectionDropped, inject
from keyfence_iam.gate.http.messages import HttpResponse, ResponseError, dynamodb_error
from keyfence_iam.gate.state import GateState
from keyfence_iam.gate.throughput.limiter import ThroughputLimiter
from keyfence_iam.strict_json import InvalidJson, parse_object
from keyfence_iam.tenant import CONTROL_PLANE_PREFIX, SESSION_TAG, tenant_key_prefix


def index_key_outside_prefix(call: DynamoDBCall) -> str | None:
    """Why this write leaves the boundary: a tenant's, or that of the control plane where no tenant is the caller."""
    tenant = next((value for key, value in call.session.tags.items() if key.casefold() == SESSION_TAG), None)
    boundary = CONTROL_PLANE_PREFIX if tenant is None else tenant_key_prefix(tenant)
    try:
        for attribute, value in index_keys_written(call.operation, call.parameters, call.keys):
            if value is None or not value.startswith(boundary):
                return f"the index key attribute {attribute} leaves the caller's boundary {boundary}"
    except UnsupportedRequest as reason:
        return f"what it writes into indexes is not understood: {reason}"
    return None


def message(session_arn: str, asked: AuthorizationRequest, reason: str) -> str:
    """AWS says nothing of the kind, and this does not pretend that it did."""
    return (
        f"User: {session_arn} is not authorized to perform: {asked.action} on resource: {asked.resource}"
        f" (strict gate: {reason})"
    )


Step = Callable[[DynamoDBCall], Awaitable[None]]

ALTERING = frozenset({"CreateTable", "UpdateTable", "DeleteTable"})


class DynamoDBApi:
    """The steps stand in the order in which a call meets them; one that ends the call raises."""

    def __init__(self, rules: GateState, upstream: EngineClient, place: ArnScope) -> None:
        self._rules, self._upstream, self._place = rules, upstream, place
        self._schemas = TableSchemaCache(upstream, place.region, TableSchema.from_description)
        self._limiter = ThroughputLimiter(upstream, place.region)
        self.steps: tuple[Step, ...] = (
            self._read,
            self._understand,
            self._authorise,
            self._miss,
            self._check_index_keys,
            self._inject_faults,
            self._forward,
            self._drop_response,
        )

    async def answer(self, call: DynamoDBCall) -> HttpResponse:
        for step in self.steps:
            await step(call)
        assert call.answer is not None
        return call.answer

    async def _read(self, call: DynamoDBCall) -> None:
        try:
            call.parameters = parse_object(call.request.body)
        except InvalidJson as unreadable:
            raise ResponseError(dynamodb_error("SerializationException", str(unreadable))) from unreadable

    async def _understand(self, call: DynamoDBCall) -> None:
        try:
            await self._expand(call)
        except UnknownTable as unknown:
            call.asked, call.missing = unknown.requests, str(unknown)
        except UnsupportedRequest as reason:
            asked = AuthorizationRequest(f"dynamodb:{call.operation}", self._place.table_arn("*"))
            raise self._refusal(call, asked, str(reason)) from reason
        except EngineUnreachable as lost:
            raise ResponseError(_engine_lost(lost)) from lost

    async def _expand(self, call: DynamoDBCall) -> None:
        """With the keys at hand first: the engine is asked only for tables that are not among them."""
        try:
            call.keys = self._schemas.known
            call.asked = authorizations_for(call.operation, call.parameters, self._place, call.keys)
        except UnknownTable as unknown:
            call.keys = {**call.keys, **await self._schemas.of(unknown.tables)}
            call.asked = authorizations_for(call.operation, call.parameters, self._place, call.keys)

    async def _authorise(self, call: DynamoDBCall) -> None:
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

    async def _miss(self, call: DynamoDBCall) -> None:
        """A table that is not there is told only to those who might use it, and nothing is forwarded unexamined."""
        if call.missing:
            raise ResponseError(dynamodb_error("ResourceNotFoundException", "Requested resource not found"))

    async def _check_index_keys(self, call: DynamoDBCall) -> None:
        if self._rules.strict and (reason := index_key_outside_prefix(call)):
            asked = call.asked[0]
            raise self._refusal(call, asked, reason, message=message(call.session.arn, asked, reason))

    async def _inject_faults(self, call: DynamoDBCall) -> None:
        struck = self._rules.faults.due_faults("dynamodb", call.operation, call.leading_keys)
        call.answer_lost = await inject(struck, DYNAMODB)

    async def _forward(self, call: DynamoDBCall) -> None:
        """Schemas are forgotten after it: whoever asked in between may have heard the old one."""
        try:
            call.answer = await self._sent(call)
        except EngineUnreachable as lost:
            call.answer = _engine_lost(lost)
        finally:
            if call.operation in ALTERING:
                self._schemas.forget()
                self._limiter.forget()

    async def _sent(self, call: DynamoDBCall) -> HttpResponse:
        """After the faults: what never reaches the engine is charged to no partition."""
        if (limits := self._rules.limits) is None:
            return await forward(call.request, self._upstream)
        return await self._limiter.forward(call, limits)

    async def _drop_response(self, call: DynamoDBCall) -> None:
        if call.answer_lost:
            raise ConnectionDropped

    def _refusal(
        self,
        call: DynamoDBCall,
        asked: AuthorizationRequest,
        reason: str,
        decision: Denied | None = None,
        message: str | None = None,
    ) -> ResponseError:
        said = message or access_denied_message(decision or Denied("identity"), asked, call.session.arn)
        self._rules.denials.add(
            DeniedCall(
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
        return ResponseError(dynamodb_error("AccessDeniedException", said))


def _engine_lost(lost: EngineUnreachable) -> HttpResponse:
    """Never sent again from here: the engine may have acted, and the caller knows whether that may be done twice."""
    return dynamodb_error("InternalServerError", f"(gate: the engine is lost: {lost})", 500)
