"""`DynamoDBApi`: the steps of a DynamoDB call in the gate, from the request body to the engine's response."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

import orjson

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
from keyfence_iam.gate.http.messages import HttpResponse, ResponseError, dynamodb_error, without_compression
from keyfence_iam.gate.settings import GateSettings, IndexKeyPrefixOf
from keyfence_iam.gate.table_arns import TableArns, TableNamedTwice, may_name_arns
from keyfence_iam.gate.throughput.throttling import ThroughputLimiter
from keyfence_iam.strict_json import InvalidJson, parse_object

TABLE_CHANGE_OPERATIONS = frozenset({"CreateTable", "UpdateTable", "DeleteTable"})
"""The operations after which cached table schemas may be wrong."""

Step = Callable[[DynamoDBCall], Awaitable[None]]


class DynamoDBApi:
    """Authorizes DynamoDB calls and forwards them to the engine, in a fixed order of steps.

    A step that ends the call raises ResponseError or ConnectionDropped.
    """

    def __init__(self, settings: GateSettings, engine: EngineClient, arn_scope: ArnScope) -> None:
        self._settings, self._engine, self._arn_scope = settings, engine, arn_scope
        self._schemas = TableSchemaCache(engine, arn_scope.region)
        self._limiter = ThroughputLimiter(engine, arn_scope.region, self._schemas)
        self.steps: tuple[Step, ...] = (
            self._parse,
            self._find_authorizations,
            self._authorize,
            self._reject_missing_tables,
            self._replace_table_arns,
            self._check_index_keys,
            self._inject_faults,
            self._forward,
            self._restore_table_arns,
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

    async def _find_authorizations(self, call: DynamoDBCall) -> None:
        """Finds the authorization requests of the call. Denies a call that the gate does not support."""
        try:
            await self._set_schemas_and_authorizations(call)
        except UnknownTable as unknown:
            call.authorizations, call.missing_tables_message = unknown.requests, str(unknown)
        except UnsupportedRequest as error:
            request = AuthorizationRequest(f"dynamodb:{call.operation}", self._arn_scope.table_arn("*"))
            raise self._log_denial(call, request, str(error)) from error
        except EngineUnreachable as error:
            raise ResponseError(_engine_error(error)) from error

    async def _set_schemas_and_authorizations(self, call: DynamoDBCall) -> None:
        """Uses the cached table schemas, and asks the engine only for tables that are not in the cache.

        The engine has no tables of other accounts or regions. It is not asked for such tables, and their schemas stay
        unknown.
        """
        try:
            call.schemas = self._schemas.cached_schemas
            call.authorizations = authorizations_for(call.operation, call.parameters, self._arn_scope, call.schemas)
        except UnknownTable as unknown:
            own_tables = [table for table in unknown.tables if not table.startswith("arn:")]
            call.schemas = {**call.schemas, **await self._schemas.find(own_tables)}
            call.authorizations = authorizations_for(call.operation, call.parameters, self._arn_scope, call.schemas)

    async def _authorize(self, call: DynamoDBCall) -> None:
        request, session, issuer = call.request, call.session, self._settings.session_issuer
        context = session.context(
            issuer.clock(),
            source_ip=request.source_ip,
            uses_tls=request.uses_tls,
            region=self._arn_scope.region,
        )
        if denied := first_denied(call.authorizations, context, session, issuer.account):
            authorization, decision = denied
            raise self._log_denial(call, authorization, call.missing_tables_message or "denied by policies", decision)

        foreign_requests = [needed for needed in call.authorizations if not self._arn_scope.owns(needed.resource)]
        if foreign_requests:
            reason = "the resource belongs to another account, region or partition"
            raise self._log_denial(call, foreign_requests[0], reason, Denied("resource"))

    async def _reject_missing_tables(self, call: DynamoDBCall) -> None:
        """Rejects a call to a missing table.

        This step follows the authorization, so that only a caller who may use a table learns that it does not exist.
        """
        if call.missing_tables_message:
            raise ResponseError(dynamodb_error("ResourceNotFoundException", "Requested resource not found"))

    async def _replace_table_arns(self, call: DynamoDBCall) -> None:
        """Replaces the ARNs of tables by their names.

        This step follows the authorization, which has checked the form of the parameters.
        """
        if not may_name_arns(call.request.body):
            return
        table_arns = TableArns(self._arn_scope)
        try:
            parameters = table_arns.replace(call.operation, call.parameters)
        except TableNamedTwice as error:
            message = "A batch must not name the same table by its name and by its ARN"
            raise ResponseError(dynamodb_error("ValidationException", message)) from error
        if table_arns.arn_by_name:
            call.table_arns, call.parameters = table_arns, parameters
            call.request = replace(without_compression(call.request), body=orjson.dumps(parameters))

    async def _check_index_keys(self, call: DynamoDBCall) -> None:
        index_key_prefix_of = self._settings.index_key_prefix_of
        reason = None if index_key_prefix_of is None else index_key_outside_prefix(call, index_key_prefix_of)
        if reason is None:
            return
        request = call.authorizations[0]
        message = (
            f"User: {call.session.arn} is not authorized to perform: {request.action} on resource: {request.resource}"
            f" (strict gate: {reason})"  # AWS does not check index keys, so the message says that the gate did
        )
        raise self._log_denial(call, request, reason, message=message)

    async def _inject_faults(self, call: DynamoDBCall) -> None:
        faults = self._settings.faults.due_faults("dynamodb", call.operation, call.leading_keys)
        call.drop_response = await inject(faults, DYNAMODB_ERRORS)

    async def _forward(self, call: DynamoDBCall) -> None:
        try:
            call.response = await self._send(call)
        except EngineUnreachable as error:
            call.response = _engine_error(error)
        finally:
            # A schema that was read during the change may be the old one, so the cache is cleared after the change.
            if call.operation in TABLE_CHANGE_OPERATIONS:
                self._schemas.clear()

    async def _send(self, call: DynamoDBCall) -> HttpResponse:
        """Forwards the call within the limits of its partitions, if there are limits.

        Faults are injected before this step, because a call that does not reach the engine uses no capacity.
        """
        if (limits := self._settings.limits) is None:
            return await forward(call.request, self._engine)
        return await self._limiter.forward(call, limits)

    async def _restore_table_arns(self, call: DynamoDBCall) -> None:
        if call.table_arns and call.response:
            call.response = call.table_arns.restore(call.operation, call.response)

    async def _drop_response(self, call: DynamoDBCall) -> None:
        if call.drop_response:
            raise ConnectionDropped

    def _log_denial(
        self,
        call: DynamoDBCall,
        request: AuthorizationRequest,
        reason: str,
        decision: Denied | None = None,
        message: str | None = None,
    ) -> ResponseError:
        """Logs the denial and returns the error to raise. Without `message`, the response has the message of AWS."""
        message = message or access_denied_message(decision or Denied("identity"), request, call.session.arn)
        self._settings.denials.add(
            DeniedCall(
                denied_at=self._settings.session_issuer.clock(),
                session_arn=call.session.arn,
                operation=call.operation,
                action=request.action,
                resource=request.resource,
                message=message,
                reason=reason,
                decision=decision,
            )
        )
        return ResponseError(dynamodb_error("AccessDeniedException", message))


def index_key_outside_prefix(call: DynamoDBCall, index_key_prefix_of: IndexKeyPrefixOf) -> str | None:
    """Returns None if every index key that the call writes has the session's key prefix. Otherwise returns a reason.

    The reason names the first index key without the prefix, or says why the index keys cannot be determined.
    """
    prefix = index_key_prefix_of(call.session.tags)
    try:
        for attribute, value in index_keys_written(call.operation, call.parameters, call.schemas):
            if value is None or not value.startswith(prefix):
                return f"the index key attribute {attribute} is outside the session's key prefix {prefix}"
    except UnsupportedRequest as error:
        return f"the index keys that the call writes cannot be determined: {error}"
    return None


def _engine_error(error: EngineUnreachable) -> HttpResponse:
    """Returns the error response for an engine that did not answer.

    The gate does not repeat the call: the engine may have executed it, and only the caller knows if it is idempotent.
    """
    return dynamodb_error("InternalServerError", f"(gate: no response from the engine: {error})", 500)
