"""Explains why the policies of a role allow or deny a DynamoDB call, as JSON and as text."""

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from rich.markup import escape

from keyfence.errors import BadInput
from keyfence.store.dynamodb.table_definition import table_definition
from keyfence_iam import arns
from keyfence_iam.authorization import (
    SUPPORTED_OPERATIONS,
    ArnScope,
    UnsupportedRequest,
    authorizations_for,
    tables_needed,
)
from keyfence_iam.deployment import Deployment
from keyfence_iam.dynamodb import TableSchema
from keyfence_iam.evaluator import (
    Allowed,
    AuthorizationRequest,
    ElementMatch,
    Explanation,
    Policies,
    Principal,
    StatementExplanation,
    access_denied_message,
    explain,
)
from keyfence_iam.roles import ROLES
from keyfence_iam.tenant import SESSION_TAG

_YES, _NO = "[green]✓[/green]", "[red]✗[/red]"
_OPERATIONS_ON_ONE_TABLE = frozenset(
    {"GetItem", "PutItem", "UpdateItem", "DeleteItem", "Query", "Scan", "DescribeTable"}
)
"""Operations that have one TableName, which may be left out on the command line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedSession:
    """The session that makes the explained call. It has a role, and the tag of a tenant unless `tenant` is None."""

    role: str
    tenant: str | None
    deployment: Deployment

    @property
    def principal(self) -> Principal:
        role_name = f"{self.deployment.role_prefix}{self.role}"
        session_arn = arns.session_arn(
            role_name, "explained", account=self.deployment.account, partition=self.deployment.partition
        )
        return Principal(
            account=self.deployment.account, role_arn=self.deployment.role_arn(self.role), session_arn=session_arn
        )

    def context(self) -> dict[str, str]:
        """Returns the condition keys that a request has because of its session."""
        tag = {f"aws:PrincipalTag/{SESSION_TAG}": self.tenant} if self.tenant is not None else {}
        return {"aws:PrincipalArn": self.principal.role_arn, "aws:PrincipalAccount": self.deployment.account, **tag}


@dataclass(frozen=True, slots=True, kw_only=True)
class CallExplanation:
    """The decisions on the authorization requests of one call. The call is allowed if all requests are allowed.

    `unsupported` is the reason why the requests of the call cannot be determined. Such a call is denied.
    """

    session: ExplainedSession
    operation: str
    decisions: tuple[tuple[AuthorizationRequest, Explanation], ...]
    unsupported: str | None = None

    @property
    def is_allowed(self) -> bool:
        return self.unsupported is None and all(
            isinstance(explanation.decision, Allowed) for _, explanation in self.decisions
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "role": self.session.role,
            "tenant": self.session.tenant,
            "operation": self.operation,
            "decision": "allowed" if self.is_allowed else "denied",
            "unsupported": self.unsupported,
            "authorizations": [self._decision_json(request, explanation) for request, explanation in self.decisions],
        }

    def lines(self) -> Iterator[str]:
        """Yields lines of rich markup: the decision on the call, then each request with the policies' statements."""
        decision = "[bold green]allowed[/bold green]" if self.is_allowed else "[bold red]denied[/bold red]"
        tenant = f" of {self.session.tenant}" if self.session.tenant else ", without a tenant"
        yield f"{decision}: {escape(self.operation)} by {self.session.role}{tenant}"
        if self.unsupported is not None:
            yield f"  The call cannot be evaluated and is denied: {escape(self.unsupported)}."
        for request, explanation in self.decisions:
            yield f"\n[bold]{escape(request.action)}[/bold] on {escape(request.resource)}"
            yield from (f"  {escape(key)} = {escape(_text(value))}" for key, value in sorted(request.context.items()))
            yield f"  {escape(self._denial_message(request, explanation) or 'Allowed.')}"
            for statement in explanation.statements:
                yield from _statement_lines(statement)

    def _decision_json(self, request: AuthorizationRequest, explanation: Explanation) -> dict[str, Any]:
        return {
            "action": request.action,
            "resource": request.resource,
            "context": dict(request.context),
            "decision": "allowed" if isinstance(explanation.decision, Allowed) else "denied",
            "by": asdict(explanation.decision.statement_id) if explanation.decision.statement_id else None,
            "message": self._denial_message(request, explanation),
            "statements": [asdict(statement) for statement in explanation.statements],
        }

    def _denial_message(self, request: AuthorizationRequest, explanation: Explanation) -> str | None:
        if isinstance(explanation.decision, Allowed):
            return None
        return access_denied_message(explanation.decision, request, self.session.principal.session_arn)


def explain_call(session: ExplainedSession, operation: str, parameters: Mapping[str, Any]) -> CallExplanation:
    """Evaluates a call with the policies of the session's role.

    Raises BadInput if neither DynamoDB nor DynamoDB Streams has the operation.
    """
    if operation not in SUPPORTED_OPERATIONS:
        raise _unknown_operation(operation)
    deployment = session.deployment
    call = {"TableName": deployment.table, **parameters} if operation in _OPERATIONS_ON_ONE_TABLE else parameters
    try:
        schemas = _table_schemas(deployment, operation, call)
        requests = authorizations_for(operation, call, ArnScope.of(deployment), schemas)
    except UnsupportedRequest as error:
        return CallExplanation(session=session, operation=operation, decisions=(), unsupported=str(error))
    decisions = tuple(_explain(session, request) for request in requests)
    return CallExplanation(session=session, operation=operation, decisions=decisions)


def _unknown_operation(operation: str) -> BadInput:
    name_by_lower_case = {name.lower(): name for name in sorted(SUPPORTED_OPERATIONS)}
    close_matches = difflib.get_close_matches(operation.lower(), name_by_lower_case, n=3)
    suggestions = [name_by_lower_case[match] for match in close_matches]
    if suggestions:
        advice = f"did you mean {' or '.join(suggestions)}?"
    else:
        advice = f"the operations are {', '.join(sorted(SUPPORTED_OPERATIONS))}."
    message = f"--call: {operation!r} is not an operation of DynamoDB or DynamoDB Streams; {advice}"
    return BadInput(message, operations=suggestions)


def _table_schemas(deployment: Deployment, operation: str, parameters: Mapping[str, Any]) -> Mapping[str, TableSchema]:
    """Returns the key schemas of the shared table and of the silos in the call. All of them have the same keys."""
    silos = (name for name in tables_needed(operation, parameters) if name.startswith(deployment.silo_table("")))
    return dict.fromkeys(
        (deployment.table, *silos), TableSchema.from_description(table_definition(deployment.table, {}))
    )


def _explain(session: ExplainedSession, request: AuthorizationRequest) -> tuple[AuthorizationRequest, Explanation]:
    context = {**session.context(), **request.context}
    complete_request = AuthorizationRequest(request.action, request.resource, context)
    policies = Policies((ROLES[session.role].identity(session.deployment),))
    return complete_request, explain(policies, complete_request, session.principal)


def _statement_lines(statement: StatementExplanation) -> Iterator[str]:
    sid = statement.id.sid or f"Statement[{statement.id.statement_position}]"
    applies = f"{_YES} applies" if statement.applies else f"{_NO} does not apply"
    yield f"  {statement.effect} {escape(sid)}: {applies}"
    yield from (_element_line(element) for element in statement.elements)


def _element_line(element: ElementMatch) -> str:
    actual = f"{escape(element.element)}: {escape(_text(element.actual))}"
    return f"    {_YES} {actual}" if element.matched else f"    {_NO} {actual}; expected: {escape(_expected(element))}"


def _expected(element: ElementMatch) -> str:
    """Returns the first three expected values as text. A condition with `Null` expects a value or none."""
    if element.element.startswith("Null "):
        return "a value" if element.expected == ("false",) else "no value"
    shown, hidden_count = element.expected[:3], len(element.expected) - 3
    return " or ".join(_text(value) for value in shown) + (f" or {hidden_count} more" if hidden_count > 0 else "")


def _text(value: object) -> str:
    if value is None:
        return "(no value)"
    return ", ".join(value) if isinstance(value, tuple) else str(value)
