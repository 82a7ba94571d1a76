"""Compiled statements, and how a statement names the principal."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache

from keyfence_iam.evaluator.condition_evaluation import CompiledCondition, compile_condition
from keyfence_iam.evaluator.decision import PolicyType, StatementId
from keyfence_iam.evaluator.request import ConditionValues, Principal, RequestContext
from keyfence_iam.evaluator.undocumented_evaluation_rules import (
    ANY_PRINCIPAL_IS_DIRECT,
    SHORT_ARN_IS_COMPLETED,
    UNREADABLE_VALUE_DENIES,
    UNRESOLVED_NOT_RESOURCE_APPLIES,
)
from keyfence_iam.evaluator.wildcard_matching import (
    ARN_SEGMENTS,
    CompiledValue,
    Matcher,
    arn_matcher,
    compile_glob,
    compile_pattern,
    parse_wildcards,
)
from keyfence_iam.policy import Policy, Statement
from keyfence_iam.policy.condition_values import InvalidValue
from keyfence_iam.policy.parser import ANY_PRINCIPAL
from keyfence_iam.policy.pattern import parse_pattern

PrincipalNames = Mapping[str, tuple[str, ...]]
"""The names in a Principal element, by type: AWS, Service, ..."""

_NO_NAMES: PrincipalNames = {}


class PrincipalMatch(IntEnum):
    """How a statement names the caller, from the least to the most direct."""

    ACCOUNT = 1
    ROLE = 2
    DIRECT = 3


@dataclass(frozen=True, slots=True)
class CompiledStatement:
    """A statement, ready to be compared with many requests."""

    id: StatementId
    statement: Statement
    matches_action: Matcher
    matches_resource: Callable[[str, ConditionValues], bool]
    conditions: tuple[CompiledCondition, ...]
    replaces_variables: bool = True

    @property
    def denies(self) -> bool:
        return self.statement.effect == "Deny"

    def applies(self, request: RequestContext) -> bool:
        """Returns whether action, resource and conditions match. `principal_match` compares the principal."""
        return (
            self.matches_action(request.action)
            and self.matches_resource(request.resource, request.condition_values)
            and all(self.condition_holds(one, request.condition_values) for one in self.conditions)
        )

    def condition_holds(self, condition: CompiledCondition, values: ConditionValues) -> bool:
        try:
            return condition.holds(values)
        except InvalidValue:
            return self.denies and UNREADABLE_VALUE_DENIES

    def principal_match(self, request: RequestContext) -> PrincipalMatch | None:
        """Returns how the statement names the caller, or None. NotPrincipal names everybody whom it does not list."""
        if self.statement.not_principals is not None:
            listed = match_principal(self.statement.not_principals, request.principal)
            return PrincipalMatch.DIRECT if listed is None else None
        return match_principal(self.statement.principals or _NO_NAMES, request.principal)


@lru_cache(maxsize=2048)
def compile_policy(
    policy: Policy, policy_type: PolicyType, position: int = 0, *, anywhere: bool = False
) -> tuple[CompiledStatement, ...]:
    """Compiles the statements of a policy.

    With `anywhere` they match every resource: a trust policy has no resources, and applies to its own role.
    """
    variables = policy.version == "2012-10-17"
    return tuple(
        CompiledStatement(
            StatementId(policy_type, position, index, statement.sid),
            statement,
            action_matcher(statement),
            _match_every_resource if anywhere else _resource_matcher(statement, variables=variables),
            tuple(compile_condition(condition, replace_variables=variables) for condition in statement.conditions),
            variables,
        )
        for index, statement in enumerate(policy.statements)
    )


def match_principal(names: PrincipalNames, principal: Principal) -> PrincipalMatch | None:
    """Returns the most direct way in which the names include the caller, or None."""
    matches = [_match_aws_principal(name, principal) for name in names.get("AWS", ())]
    if principal.service and principal.service in names.get("Service", ()):
        matches.append(PrincipalMatch.DIRECT)
    return max((match for match in matches if match is not None), default=None)


def action_matcher(statement: Statement) -> Matcher:
    """Returns a matcher of the statement's actions. It expects an action in lower case."""
    if statement.actions:
        return _any_action(statement.actions)
    if statement.not_actions:
        listed = _any_action(statement.not_actions)
        return lambda action: not listed(action)
    return lambda _: False


def _match_aws_principal(name: str, principal: Principal) -> PrincipalMatch | None:
    if name == ANY_PRINCIPAL:
        return PrincipalMatch.DIRECT if ANY_PRINCIPAL_IS_DIRECT else PrincipalMatch.ROLE
    if not principal.account:
        return None
    if name == principal.session_arn:
        return PrincipalMatch.DIRECT
    if name == principal.role_arn:
        return PrincipalMatch.ROLE
    return PrincipalMatch.ACCOUNT if _account(name) == principal.account else None


def _account(name: str) -> str:
    """Returns the account that a name stands for: its number, or the ARN of its root. Empty for other ARNs."""
    segments = name.split(":", ARN_SEGMENTS - 1)
    if len(segments) < ARN_SEGMENTS:
        return name
    return segments[4] if segments[5] == "root" else ""


def _any_action(actions: tuple[str, ...]) -> Matcher:
    names = [action.lower() for action in actions]
    exact = frozenset(name for name in names if not {"*", "?"} & set(name))
    globs = [compile_glob(parse_wildcards(name)) for name in names if name not in exact]
    return lambda action: action in exact or any(glob.matches(action) for glob in globs)


def _resource_matcher(statement: Statement, *, variables: bool) -> Callable[[str, ConditionValues], bool]:
    patterns = [_compile_arn(one, variables=variables) for one in statement.resources or statement.not_resources]

    def matches(resource: str, values: ConditionValues) -> bool:
        return any((matcher := pattern(values)) is not None and matcher(resource) for pattern in patterns)

    def matches_none(resource: str, values: ConditionValues) -> bool:
        if not UNRESOLVED_NOT_RESOURCE_APPLIES and any(pattern(values) is None for pattern in patterns):
            return False
        return not matches(resource, values)

    return matches_none if statement.not_resources else matches


def _compile_arn(resource: str, *, variables: bool) -> CompiledValue:
    """Compiles an ARN pattern. Only the last segment has variables; in the others `${` is plain text."""
    if resource == "*":
        return lambda _: _match_everything
    *head, tail = _segments(resource)
    fixed = [parse_wildcards(segment) for segment in head]
    return compile_pattern(parse_pattern(tail, variables=variables), lambda parts: arn_matcher([*fixed, parts]))


def _segments(resource: str) -> list[str]:
    segments = resource.split(":", ARN_SEGMENTS - 1)
    completed = SHORT_ARN_IS_COMPLETED and resource.endswith("*")
    return [*segments, *("*" * (ARN_SEGMENTS - len(segments)))] if completed else segments


def _match_every_resource(_: str, __: ConditionValues) -> bool:
    return True


def _match_everything(_: str) -> bool:
    return True
