"""`DynamoDBApi`: the steps of a DynamoDB call through the gate, from the request body to the engine's response."""

from collections.abc import Awaitable, Callable

from keyfence_iam.authorization import (
    ArnScope,
    UnknownTable,
    UnsupportedRequest,
    authorizations_for,
    index_keys_written,
)
from keyfence_iam.evaluator.decision import Denied, access_denied_message
from keyfence_iam.evaluator.request import AuthorizationRequest
from keyfence_iam.gate.denials import DeniedCall, first_denied
from keyfence_iam.gate.dynamodb_call import DynamoDBCall
from keyfence_iam.gate.engine.engine_client import EngineClient, EngineUnreachable, forward
from keyfence_iam.gate.engine.table_schema_cache import TableSchemaCache
from keyfence_iam.gate.fault_injection import DYNAMODB_ERRORS, ConnectionDropped, inject
from keyfence_iam.gate.http.messages import HttpResponse, ResponseError, dynamodb_error
from keyfence_iam.gate.settings import GateSettings, IndexKeyPrefix
from keyfence_iam.gate.throughput.throttling import ThroughputLimiter
from keyfence_iam.strict_json import InvalidJson, parse_object

TABLE_CHANGES = frozenset({"CreateTable", "UpdateTable", "DeleteTable"})

Step = Callable[[DynamoDBCall], Awaitable[None]]


class DynamoDBApi:
    """Runs the steps in order. A step that ends the call raises ResponseError or ConnectionDropped."""

    def __init__(self, settings: GateSettings, engine: EngineClient, arns: ArnScope) -> None:
        self._settings, self._engine, self._arns = settings, engine, arns
        self._schemas = TableSchemaCache(engine, arns.region)
        self._limiter = ThroughputLimiter(engine, arns.region, self._schemas)
        self.steps: tuple[Step, ...] = (
            self._parse,
            self._expand,
            self._authorize,
            self._reject_missing_tables,
            self._check_index_keys,
            self._inject_faults,
            self._forward,
            self._drop_response,
        )

    async def respond(self, call: DynamoDBCall) -> HttpResponse:
        for step in self.steps:
            await step(call)
        assert call.response is not None
        return call.response

    async def _parse(self, call: DynamoDBCall) -> None:
        try:
            call.parameters = parse_object(call.request.body)
        except InvalidJson as error:
            raise ResponseError(dynamodb_error("SerializationException", str(error))) from error

    async def _expand(self, call: DynamoDBCall) -> None:
        """Finds the authorization requests of the call. A request that the gate does not support is denied."""
        try:
            await self._find_authorizations(call)
        except UnknownTable as unknown:
            call.authorizations, call.missing_tables = unknown.requests, str(unknown)
        except UnsupportedRequest as error:
            request = AuthorizationRequest(f"dynamodb:{call.operation}", self._arns.table_arn("*"))
            raise self._denial(call, request, str(error)) from error
        except EngineUnreachable as error:
            raise ResponseError(_engine_error(error)) from error

    async def _find_authorizations(self, call: DynamoDBCall) -> None:
        """Tries the cached schemas first and asks the engine only for tables that are not among them."""
        try:
            call.schemas = self._schemas.cached
            call.authorizations = authorizations_for(call.operation, call.parameters, self._arns, call.schemas)
        except UnknownTable as unknown:
            call.schemas = {**call.schemas, **await self._schemas.find(unknown.tables)}
            call.authorizations = authorizations_for(call.operation, call.parameters, self._arns, call.schemas)

    async def _authorize(self, call: DynamoDBCall) -> None:
        request, session, issuer = call.request, call.session, self._settings.sessions
        context = session.context(
            issuer.clock(),
            source_ip=request.source_ip,
            secure_transport=request.secure,
            region=self._arns.region,
        )
        if denied := first_denied(call.authorizations, context, session, issuer.account):
            authorization, decision = denied
            raise self._denial(call, authorization, call.missing_tables or "denied by policies", decision)

    async def _reject_missing_tables(self, call: DynamoDBCall) -> None:
        """After the authorization: only a caller that may use a table learns that it does not exist."""
        if call.missing_tables:
            raise ResponseError(dynamodb_error("ResourceNotFoundException", "Requested resource not found"))

    async def _check_index_keys(self, call: DynamoDBCall) -> None:
        check = self._settings.index_key_prefix
        if check is None or (reason := index_key_outside_prefix(call, check)) is None:
            return
        request = call.authorizations[0]
        message = (
            f"User: {call.session.arn} is not authorized to perform: {request.action} on resource: {request.resource}"
            f" (strict gate: {reason})"  # AWS has no such check, and the message says who made it
        )
        raise self._denial(call, request, reason, message=message)

    async def _inject_faults(self, call: DynamoDBCall) -> None:
        faults = self._settings.faults.due_faults("dynamodb", call.operation, call.leading_keys)
        call.drop_response = await inject(faults, DYNAMODB_ERRORS)

    async def _forward(self, call: DynamoDBCall) -> None:
        try:
            call.response = await self._send(call)
        except EngineUnreachable as error:
            call.response = _engine_error(error)
        finally:
            if call.operation in TABLE_CHANGES:  # only now: a schema that was read during the change may be the old one
                self._schemas.clear()

    async def _send(self, call: DynamoDBCall) -> HttpResponse:
        """After the faults: a call that never reaches the engine uses no capacity."""
        if (limits := self._settings.limits) is None:
            return await forward(call.request, self._engine)
        return await self._limiter.forward(call, limits)

    async def _drop_response(self, call: DynamoDBCall) -> None:
        if call.drop_response:
            raise ConnectionDropped

    def _denial(
        self,
        call: DynamoDBCall,
        request: AuthorizationRequest,
        reason: str,
        decision: Denied | None = None,
        message: str | None = None,
    ) -> ResponseError:
        """Logs the denial and returns the error to raise."""
        text = message or access_denied_message(decision or Denied("identity"), request, call.session.arn)
        self._settings.denials.add(
            DeniedCall(
                denied_at=self._settings.sessions.clock(),
                session_arn=call.session.arn,
                operation=call.operation,
                action=request.action,
                resource=request.resource,
                message=text,
                reason=reason,
                decision=decision,
            )
        )
        return ResponseError(dynamodb_error("AccessDeniedException", text))


def index_key_outside_prefix(call: DynamoDBCall, index_key_prefix: IndexKeyPrefix) -> str | None:
    """Returns which index key attribute of a write lies outside the session's key prefix, or None if none does."""
    prefix = index_key_prefix(call.session.tags)
    try:
        for attribute, value in index_keys_written(call.operation, call.parameters, call.schemas):
            if value is None or not value.startswith(prefix):
                return f"the index key attribute {attribute} is outside the session's key prefix {prefix}"
    except UnsupportedRequest as error:
        return f"the index keys that the call writes cannot be determined: {error}"
    return None


def _engine_error(error: EngineUnreachable) -> HttpResponse:
    """The gate never repeats a call: the engine may have executed it, and only the caller knows if it is idempotent."""
    return dynamodb_error("InternalServerError", f"(gate: no response from the engine: {error})", 500)
