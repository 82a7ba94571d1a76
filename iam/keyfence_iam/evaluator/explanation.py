"""Explains a decision: for each statement, which of its elements match the request."""

from dataclasses import dataclass

from keyfence_iam.evaluator.condition_evaluation import CompiledCondition
from keyfence_iam.evaluator.decision import Decision, StatementId
from keyfence_iam.evaluator.evaluation_logic import Policies, evaluate
from keyfence_iam.evaluator.request import (
    AuthorizationRequest,
    ContextValue,
    LowercaseContext,
    NormalizedRequest,
    Principal,
)
from keyfence_iam.evaluator.statement_matching import CompiledStatement
from keyfence_iam.evaluator.wildcard_matching import pattern_text, substitute
from keyfence_iam.policy import Condition, Effect
from keyfence_iam.policy.condition_operators import parse_operator
from keyfence_iam.policy.pattern import parse_pattern


@dataclass(frozen=True, slots=True)
class ElementMatch:
    """One element of a statement, and whether it matches the request."""

    element: str
    """Principal, Action, Resource, or the operator and key of a condition."""
    matched: bool
    expected: tuple[str | None, ...]
    """The values in the policy, with variables replaced. None stands for a value that has a variable without value."""
    actual: ContextValue | None
    """The value in the request. None if the request has no value."""


@dataclass(frozen=True, slots=True)
class StatementExplanation:
    """The elements of one statement. The statement applies if all of them match."""

    id: StatementId
    effect: Effect
    applies: bool
    elements: tuple[ElementMatch, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """The decision, and an explanation of every statement in the policies."""

    decision: Decision
    statements: tuple[StatementExplanation, ...]


def explain(policies: Policies, request: AuthorizationRequest, principal: Principal | None = None) -> Explanation:
    """Returns the decision of `evaluate`, with the explanation of every statement."""
    normalized = NormalizedRequest.of(request, principal)
    statements = tuple(
        _explain_statement(statement, request, normalized) for statement in policies.compiled_statements()
    )
    return Explanation(evaluate(policies, request, principal), statements)


def _explain_statement(
    statement: CompiledStatement, request: AuthorizationRequest, normalized: NormalizedRequest
) -> StatementExplanation:
    elements = (
        *_principal(statement, normalized),
        _action(statement, request, normalized),
        _resource(statement, normalized),
        *(_condition(condition, statement, normalized.context) for condition in statement.conditions),
    )
    applies = all(element.matched for element in elements)
    return StatementExplanation(statement.id, statement.statement.effect, applies, elements)


def _principal(statement: CompiledStatement, normalized: NormalizedRequest) -> tuple[ElementMatch, ...]:
    if statement.id.policy_type != "resource":
        return ()
    parsed_statement = statement.statement
    is_negated = parsed_statement.not_principals is not None
    names_by_type = (parsed_statement.not_principals if is_negated else parsed_statement.principals) or {}
    expected = tuple(name for names in names_by_type.values() for name in names)
    actual = normalized.principal.session_arn or normalized.principal.service
    matched = statement.principal_match(normalized) is not None
    return (ElementMatch("NotPrincipal" if is_negated else "Principal", matched, expected, actual),)


def _action(statement: CompiledStatement, request: AuthorizationRequest, normalized: NormalizedRequest) -> ElementMatch:
    parsed_statement = statement.statement
    expected = parsed_statement.actions or parsed_statement.not_actions
    matched = statement.matches_action(normalized.action)
    return ElementMatch("Action" if parsed_statement.actions else "NotAction", matched, expected, request.action)


def _resource(statement: CompiledStatement, normalized: NormalizedRequest) -> ElementMatch:
    parsed_statement, values = statement.statement, normalized.context
    patterns = parsed_statement.resources or parsed_statement.not_resources
    has_variables = statement.replaces_variables
    expected = tuple(_replace_variables(pattern, values, has_variables=has_variables) for pattern in patterns)
    matched = statement.matches_resource(normalized.resource, values)
    return ElementMatch(
        "Resource" if parsed_statement.resources else "NotResource", matched, expected, normalized.resource
    )


def _condition(compiled: CompiledCondition, statement: CompiledStatement, values: LowercaseContext) -> ElementMatch:
    condition = compiled.condition
    has_variables = statement.replaces_variables and _takes_variables(condition)
    expected = tuple(_replace_variables(value, values, has_variables=has_variables) for value in condition.values)
    matched = statement.condition_holds(compiled, values)
    return ElementMatch(f"{condition.operator} {condition.key}", matched, expected, values.get(compiled.key))


def _takes_variables(condition: Condition) -> bool:
    operator = parse_operator(condition.operator)
    return operator is not None and operator.takes_variables


def _replace_variables(text: str, values: LowercaseContext, *, has_variables: bool) -> str | None:
    """Returns the text with variables replaced, or None if a variable has no value."""
    parts = substitute(parse_pattern(text, has_variables=has_variables), values)
    return None if parts is None else pattern_text(parts)
