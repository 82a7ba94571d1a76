"""Compiled statements; how a policy names a principal."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache

from keyfence_iam.evaluator.conditions import CompiledCondition, compile_condition
from keyfence_iam.evaluator.decision import PolicyType, StatementId
from keyfence_iam.evaluator.matching import (
    ARN_SEGMENTS,
    CompiledValue,
    Matcher,
    arn_matcher,
    compile_glob,
    compile_pattern,
    parse_wildcards,
)
from keyfence_iam.evaluator.request import ConditionValues, Principal, RequestContext
from keyfence_iam.evaluator.undocumented_behavior import (
    ANY_PRINCIPAL_IS_DIRECT,
    SHORT_ARN_IS_COMPLETED,
    UNREADABLE_VALUE_DENIES,
    UNRESOLVED_NOT_RESOURCE_APPLIES,
)
from keyfence_iam.policy import Policy, Statement
from keyfence_iam.policy.parser import ANY_PRINCIPAL
from keyfence_iam.policy.pattern import parse_pattern
from keyfence_iam.policy.values import InvalidValue


class PrincipalMatch(IntEnum):
    """From the least to the most direct."""

    ACCOUNT = 1
    ROLE = 2
    DIRECT = 3


def match_principal(names: Mapping[str, tuple[str, ...]], principal: Principal) -> PrincipalMatch | None:
    """The most direct way in which the names hold for the caller, or None if it is not among them."""
    found = [_aws(name, principal) for name in names.get("AWS", ())]
    found += [
        PrincipalMatch.DIRECT for name in names.get("Service", ()) if principal.service and name == principal.service
    ]
    return max((one for one in found if one is not None), default=None)


def _aws(name: str, principal: Principal) -> PrincipalMatch | None:
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
    """The account that is named as a whole: by its number, or by its root."""
    segments = name.split(":", 5)
    if len(segments) < 6:
        return name
    return segments[4] if segments[5] == "root" else ""


_NAMES_NOTHING: Mapping[str, tuple[str, ...]] = {}


@dataclass(frozen=True, slots=True)
class CompiledStatement:
    """One statement, and where it stands."""

    id: StatementId
    statement: Statement
    matches_action: Matcher
    matches_resource: Callable[[str, ConditionValues], bool]
    conditions: tuple[CompiledCondition, ...]
    replaces_variables: bool = True

    @property
    def denies(self) -> bool:
        return self.statement.effect == "Deny"

    def applies(self, question: RequestContext) -> bool:
        """Whatever the statement says of principals: see `naming`."""
        return (
            self.matches_action(question.action)
            and self.matches_resource(question.resource, question.condition_values)
            and self.conditions_hold(question.condition_values)
        )

    def conditions_hold(self, context: ConditionValues) -> bool:
        return all(self.condition_holds(one, context) for one in self.conditions)

    def condition_holds(self, one: CompiledCondition, context: ConditionValues) -> bool:
        try:
            return one.holds(context)
        except InvalidValue:
            return self.denies and UNREADABLE_VALUE_DENIES

    def principal_match(self, question: RequestContext) -> PrincipalMatch | None:
        """How the statement names the caller; a NotPrincipal names whoever it does not list."""
        if self.statement.not_principals is not None:
            listed = match_principal(self.statement.not_principals, question.principal)
            return PrincipalMatch.DIRECT if listed is None else None
        return match_principal(self.statement.principals or _NAMES_NOTHING, question.principal)


@lru_cache(maxsize=2048)
def compile_policy(
    policy: Policy, kind: PolicyType, position: int = 0, *, anywhere: bool = False
) -> tuple[CompiledStatement, ...]:
    """A trust policy holds for the role that it is attached to, and names no resource: that is `anywhere`."""
    variables = policy.version == "2012-10-17"
    return tuple(
        CompiledStatement(
            StatementId(kind, position, index, statement.sid),
            statement,
            action_matcher(statement),
            _everywhere if anywhere else _resource(statement, variables=variables),
            tuple(compile_condition(condition, replace_variables=variables) for condition in statement.conditions),
            variables,
        )
        for index, statement in enumerate(policy.statements)
    )


def _everywhere(_: str, __: ConditionValues) -> bool:
    return True


def action_matcher(statement: Statement) -> Matcher:
    """Return what tells whether a statement names an action, which must be in lower case."""
    if statement.actions:
        return _one_of(statement.actions)
    if statement.not_actions:
        listed = _one_of(statement.not_actions)
        return lambda action: not listed(action)
    return lambda _: False


def _one_of(actions: tuple[str, ...]) -> Matcher:
    names = [action.lower() for action in actions]
    plain = frozenset(name for name in names if not {"*", "?"} & set(name))
    patterns = [compile_glob(parse_wildcards(name)) for name in names if name not in plain]
    return lambda action: action in plain or any(pattern.matches(action) for pattern in patterns)


def _resource(statement: Statement, *, variables: bool) -> Callable[[str, ConditionValues], bool]:
    listed = [_arn(resource, variables=variables) for resource in statement.resources or statement.not_resources]
    excepted = bool(statement.not_resources)

    def named(resource: str, context: ConditionValues) -> bool:
        return any((matches := one(context)) is not None and matches(resource) for one in listed)

    def not_named(resource: str, context: ConditionValues) -> bool:
        if not UNRESOLVED_NOT_RESOURCE_APPLIES and any(one(context) is None for one in listed):
            return False
        return not named(resource, context)

    return not_named if excepted else named


def _arn(resource: str, *, variables: bool) -> CompiledValue:
    """Variables are read in the last segment alone: a `${` before the fifth colon is plain text."""
    if resource == "*":
        return lambda _: _anything
    *head, tail = _segments(resource)
    plain = [parse_wildcards(segment) for segment in head]
    return compile_pattern(parse_pattern(tail, variables=variables), lambda atoms: arn_matcher([*plain, atoms]))


def _segments(resource: str) -> list[str]:
    segments = resource.split(":", ARN_SEGMENTS - 1)
    completed = SHORT_ARN_IS_COMPLETED and resource.endswith("*")
    return [*segments, *("*" * (ARN_SEGMENTS - len(segments)))] if completed else segments


def _anything(_: str) -> bool:
    return True
