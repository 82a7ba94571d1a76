"""The reason for a decision: of each statement, which elements match the request."""

from dataclasses import dataclass

from keyfence_iam.evaluator.condition_evaluation import CompiledCondition
from keyfence_iam.evaluator.decision import Decision, StatementId
from keyfence_iam.evaluator.evaluation_logic import Policies, evaluate
from keyfence_iam.evaluator.request import (
    AuthorizationRequest,
    ConditionValues,
    ContextValue,
    Principal,
    RequestContext,
)
from keyfence_iam.evaluator.statement_matching import CompiledStatement
from keyfence_iam.evaluator.wildcard_matching import pattern_text, substitute
from keyfence_iam.policy import Condition, Effect
from keyfence_iam.policy.condition_operators import parse_operator
from keyfence_iam.policy.pattern import parse_pattern


@dataclass(frozen=True, slots=True)
class ElementMatch:
    """One element of a statement, compared with the request."""

    element: str
    """Principal, Action, Resource, or the operator and key of a condition."""
    matched: bool
    expected: tuple[str | None, ...]
    """The values in the policy, with variables replaced. None is a value with a variable that has no value."""
    actual: ContextValue | None
    """The value in the request. None if the request has no value."""


@dataclass(frozen=True, slots=True)
class StatementExplanation:
    """One statement. It applies if all its elements match."""

    id: StatementId
    effect: Effect
    applies: bool
    elements: tuple[ElementMatch, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """The decision, and every statement of the policies."""

    decision: Decision
    statements: tuple[StatementExplanation, ...]


def explain(policies: Policies, request: AuthorizationRequest, principal: Principal | None = None) -> Explanation:
    context = RequestContext.of(request, principal)
    statements = tuple(_explain_statement(one, request, context) for one in policies.compiled_statements())
    return Explanation(evaluate(policies, request, principal), statements)


def _explain_statement(
    statement: CompiledStatement, request: AuthorizationRequest, context: RequestContext
) -> StatementExplanation:
    elements = (
        *_principal(statement, context),
        _action(statement, request, context),
        _resource(statement, context),
        *(_condition(condition, statement, context.condition_values) for condition in statement.conditions),
    )
    applies = all(element.matched for element in elements)
    return StatementExplanation(statement.id, statement.statement.effect, applies, elements)


def _principal(statement: CompiledStatement, context: RequestContext) -> tuple[ElementMatch, ...]:
    if statement.id.policy_type != "resource":
        return ()
    source = statement.statement
    negated = source.not_principals is not None
    by_type = (source.not_principals if negated else source.principals) or {}
    expected = tuple(name for names in by_type.values() for name in names)
    actual = context.principal.session_arn or context.principal.service
    matched = statement.principal_match(context) is not None
    return (ElementMatch("NotPrincipal" if negated else "Principal", matched, expected, actual),)


def _action(statement: CompiledStatement, request: AuthorizationRequest, context: RequestContext) -> ElementMatch:
    source = statement.statement
    expected = source.actions or source.not_actions
    matched = statement.matches_action(context.action)
    return ElementMatch("Action" if source.actions else "NotAction", matched, expected, request.action)


def _resource(statement: CompiledStatement, context: RequestContext) -> ElementMatch:
    source, values = statement.statement, context.condition_values
    patterns = source.resources or source.not_resources
    expected = tuple(_replaced(one, values, variables=statement.replaces_variables) for one in patterns)
    matched = statement.matches_resource(context.resource, values)
    return ElementMatch("Resource" if source.resources else "NotResource", matched, expected, context.resource)


def _condition(compiled: CompiledCondition, statement: CompiledStatement, values: ConditionValues) -> ElementMatch:
    source = compiled.condition
    variables = statement.replaces_variables and _takes_variables(source)
    expected = tuple(_replaced(value, values, variables=variables) for value in source.values)
    matched = statement.condition_holds(compiled, values)
    return ElementMatch(f"{source.operator} {source.key}", matched, expected, values.get(compiled.key))


def _takes_variables(condition: Condition) -> bool:
    operator = parse_operator(condition.operator)
    return operator is not None and operator.takes_variables


def _replaced(text: str, values: ConditionValues, *, variables: bool) -> str | None:
    parts = substitute(parse_pattern(text, variables=variables), values)
    return None if parts is None else pattern_text(parts)
