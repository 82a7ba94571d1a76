"""Why a decision is as it is: of each statement, what matched and what did not."""

from dataclasses import dataclass

from keyfence_iam.evaluator.conditions import CompiledCondition
from keyfence_iam.evaluator.decision import Decision, StatementId
from keyfence_iam.evaluator.evaluation import Policies, evaluate
from keyfence_iam.evaluator.matching import pattern_text, substitute
from keyfence_iam.evaluator.request import (
    AuthorizationRequest,
    ConditionValues,
    ContextValue,
    Principal,
    RequestContext,
)
from keyfence_iam.evaluator.statement import CompiledStatement
from keyfence_iam.policy import Condition, Effect
from keyfence_iam.policy.operators import parse_operator
from keyfence_iam.policy.pattern import parse_pattern


@dataclass(frozen=True, slots=True)
class ElementMatch:
    """One element of a statement held against the request."""

    element: str
    """Principal, Action, Resource, or the operator and the key of a condition."""
    matched: bool
    expected: tuple[str | None, ...]
    """What the policy lists, its variables filled in; None is a text with a variable that has no value."""
    actual: ContextValue | None
    """What the request has; None is a key without a value."""


@dataclass(frozen=True, slots=True)
class StatementExplanation:
    """One statement: it applies if everything in it matched."""

    id: StatementId
    effect: Effect
    applies: bool
    elements: tuple[ElementMatch, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """The decision, and every statement that could have had a part in it."""

    decision: Decision
    statements: tuple[StatementExplanation, ...]


def explain(policies: Policies, request: AuthorizationRequest, principal: Principal | None = None) -> Explanation:
    question = RequestContext.of(request, principal)
    statements = tuple(_explained(rule, request, question) for rule in policies.compiled_statements())
    return Explanation(evaluate(policies, request, principal), statements)


def _explained(rule: CompiledStatement, asked: AuthorizationRequest, question: RequestContext) -> StatementExplanation:
    findings = (
        *_principal(rule, question),
        _action(rule, asked, question),
        _resource(rule, question),
        *(_condition(clause, rule, question.condition_values) for clause in rule.conditions),
    )
    return StatementExplanation(rule.id, rule.statement.effect, all(one.matched for one in findings), findings)


def _principal(rule: CompiledStatement, question: RequestContext) -> tuple[ElementMatch, ...]:
    if rule.id.policy_type != "resource":
        return ()
    said = rule.statement
    names = said.principals if said.not_principals is None else said.not_principals
    wanted = tuple(name for listed in (names or {}).values() for name in listed)
    found = question.principal.session_arn or question.principal.service
    element = "Principal" if said.not_principals is None else "NotPrincipal"
    return (ElementMatch(element, rule.principal_match(question) is not None, wanted, found),)


def _action(rule: CompiledStatement, asked: AuthorizationRequest, question: RequestContext) -> ElementMatch:
    element = "Action" if rule.statement.actions else "NotAction"
    wanted = rule.statement.actions or rule.statement.not_actions
    return ElementMatch(element, rule.matches_action(question.action), wanted, asked.action)


def _resource(rule: CompiledStatement, question: RequestContext) -> ElementMatch:
    element = "Resource" if rule.statement.resources else "NotResource"
    listed = rule.statement.resources or rule.statement.not_resources
    wanted = tuple(_shown(one, question.condition_values, variables=rule.replaces_variables) for one in listed)
    return ElementMatch(
        element, rule.matches_resource(question.resource, question.condition_values), wanted, question.resource
    )


def _condition(clause: CompiledCondition, rule: CompiledStatement, context: ConditionValues) -> ElementMatch:
    said = clause.condition
    variables = rule.replaces_variables and _takes_variables(said)
    wanted = tuple(_shown(value, context, variables=variables) for value in said.values)
    return ElementMatch(
        f"{said.operator} {said.key}", rule.condition_holds(clause, context), wanted, context.get(clause.key)
    )


def _takes_variables(condition: Condition) -> bool:
    operator = parse_operator(condition.operator)
    return operator is not None and operator.takes_variables


def _shown(text: str, context: ConditionValues, *, variables: bool) -> str | None:
    atoms = substitute(parse_pattern(text, variables=variables), context)
    return None if atoms is None else pattern_text(atoms)
