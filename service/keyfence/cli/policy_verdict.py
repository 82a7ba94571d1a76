"""What a role's policy decides on a call, ready to be shown."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from rich.markup import escape

from keyfence.store.dynamodb.table_definition import definition
from keyfence_iam.authorization import ArnScope, TableSchema, UnsupportedRequest, authorizations_for, tables_needed
from keyfence_iam.deployment import Deployment
from keyfence_iam.evaluator.decision import Allowed, access_denied_message
from keyfence_iam.evaluator.evaluate import Policies
from keyfence_iam.evaluator.explain import ElementMatch, Explanation, StatementExplanation, explain
from keyfence_iam.evaluator.request import AuthorizationRequest, Principal
from keyfence_iam.roles import ROLES
from keyfence_iam.tenant import SESSION_TAG

_YES, _NO = "[green]✓[/green]", "[red]✗[/red]"
_ON_ONE_TABLE = frozenset({"GetItem", "PutItem", "UpdateItem", "DeleteItem", "Query", "Scan", "DescribeTable"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedSession:
    """A session of a role, with or without a tenant."""

    role: str
    tenant: str | None
    deployment: Deployment

    @property
    def principal(self) -> Principal:
        name = f"{self.deployment.role_prefix}{self.role}"
        session = f"arn:{self.deployment.partition}:sts::{self.deployment.account}:assumed-role/{name}/explained"
        return Principal(
            account=self.deployment.account, role_arn=self.deployment.role_arn(self.role), session_arn=session
        )

    def context(self) -> dict[str, str]:
        tag = {f"aws:PrincipalTag/{SESSION_TAG}": self.tenant} if self.tenant is not None else {}
        return {"aws:PrincipalArn": self.principal.role_arn, "aws:PrincipalAccount": self.deployment.account, **tag}


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyDecision:
    """The answers to all that a call asks; it is allowed if each of them is, and never if it is not understood."""

    asker: ExplainedSession
    operation: str
    answers: tuple[tuple[AuthorizationRequest, Explanation], ...]
    not_understood: str | None = None

    @property
    def allowed(self) -> bool:
        return self.not_understood is None and all(isinstance(one.decision, Allowed) for _, one in self.answers)

    def as_json(self) -> dict[str, Any]:
        said = {"role": self.asker.role, "tenant": self.asker.tenant, "operation": self.operation}
        answers = [self._answer(asked, found) for asked, found in self.answers]
        decision = "allowed" if self.allowed else "denied"
        return {**said, "decision": decision, "notUnderstood": self.not_understood, "authorisations": answers}

    def _answer(self, asked: AuthorizationRequest, found: Explanation) -> dict[str, Any]:
        return {
            "action": asked.action,
            "resource": asked.resource,
            "context": dict(asked.context),
            "decision": "allowed" if isinstance(found.decision, Allowed) else "denied",
            "by": asdict(found.decision.by) if found.decision.by else None,
            "message": self._message(asked, found),
            "statements": [asdict(statement) for statement in found.statements],
        }

    def _message(self, asked: AuthorizationRequest, found: Explanation) -> str | None:
        session = self.asker.principal.session_arn
        return None if isinstance(found.decision, Allowed) else access_denied_message(found.decision, asked, session)

    def lines(self) -> Iterator[str]:
        """As rich text: the decision first, then each question with its statements."""
        word = "[bold green]allowed[/bold green]" if self.allowed else "[bold red]denied[/bold red]"
        tenant = f" of {self.asker.tenant}" if self.asker.tenant else ", without a tenant"
        yield f"{word}: {escape(self.operation)} by {self.asker.role}{tenant}"
        if self.not_understood is not None:
            yield f"  The call is not understood, and so it is denied: {escape(self.not_understood)}."
        for asked, found in self.answers:
            yield f"\n[bold]{escape(asked.action)}[/bold] on {escape(asked.resource)}"
            yield from (f"  {escape(key)} = {escape(_shown(value))}" for key, value in sorted(asked.context.items()))
            yield f"  {escape(self._message(asked, found) or 'Allowed.')}"
            for statement in found.statements:
                yield from _statement(statement)


def verdict(asker: ExplainedSession, operation: str, parameters: Mapping[str, Any]) -> PolicyDecision:
    table = asker.deployment.table
    named = {"TableName": table, **parameters} if operation in _ON_ONE_TABLE else parameters
    try:
        questions = authorizations_for(
            operation, named, ArnScope.of(asker.deployment), _keys(asker.deployment, operation, named)
        )
    except UnsupportedRequest as error:
        return PolicyDecision(asker=asker, operation=operation, answers=(), not_understood=str(error))
    return PolicyDecision(asker=asker, operation=operation, answers=tuple(_decided(asker, one) for one in questions))


def _keys(deployment: Deployment, operation: str, parameters: Mapping[str, Any]) -> Mapping[str, TableSchema]:
    """Silos have the keys of the pool, whosever they are."""
    silos = (name for name in tables_needed(operation, parameters) if name.startswith(deployment.silo_table("")))
    return dict.fromkeys((deployment.table, *silos), TableSchema.from_description(definition(deployment.table, {})))


def _decided(asker: ExplainedSession, asked: AuthorizationRequest) -> tuple[AuthorizationRequest, Explanation]:
    complete = AuthorizationRequest(asked.action, asked.resource, {**asker.context(), **asked.context})
    policies = Policies((ROLES[asker.role].identity(asker.deployment),))
    return complete, explain(policies, complete, asker.principal)


def _statement(statement: StatementExplanation) -> Iterator[str]:
    sid = statement.id.sid or f"Statement[{statement.id.statement}]"
    applies = f"{_YES} applies" if statement.applies else f"{_NO} does not apply"
    yield f"  {statement.effect} {escape(sid)}: {applies}"
    yield from (_finding(finding) for finding in statement.elements)


def _finding(finding: ElementMatch) -> str:
    found = f"{escape(finding.element)}: {escape(_shown(finding.actual))}"
    return f"    {_YES} {found}" if finding.matched else f"    {_NO} {found}; wanted: {escape(_wanted(finding))}"


def _wanted(finding: ElementMatch) -> str:
    if finding.element.startswith("Null "):
        return "a value" if finding.expected == ("false",) else "no value"
    first, rest = finding.expected[:3], len(finding.expected) - 3
    return " or ".join(_shown(one) for one in first) + (f" or {rest} more" if rest > 0 else "")


def _shown(value: object) -> str:
    if value is None:
        return "(no value)"
    return ", ".join(value) if isinstance(value, tuple) else str(value)
