"""Compares a statement with a request: its action, resource, conditions and principal."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache

from keyfence_iam.evaluator.condition_evaluation import CompiledCondition, compile_condition
from keyfence_iam.evaluator.decision import PolicyType, StatementId
from keyfence_iam.evaluator.request import LowercaseContext, NormalizedRequest, Principal
from keyfence_iam.evaluator.undocumented_evaluation_rules import (
    ANY_PRINCIPAL_IS_DIRECT,
    SHORT_ARN_IS_COMPLETED,
    UNREADABLE_VALUE_DENIES,
    UNRESOLVED_NOT_RESOURCE_APPLIES,
)
from keyfence_iam.evaluator.wildcard_matching import (
    ARN_SEGMENT_COUNT,
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
"""The names in a Principal element, by the type of principal: AWS, Service, ..."""

_NO_NAMES: PrincipalNames = {}


class PrincipalMatch(IntEnum):
    """How a statement names the caller, from the least to the most direct."""

    ACCOUNT = 1
    """By the account of the caller."""
    ROLE = 2
    """By the role of the caller's session."""
    DIRECT = 3
    """By the session itself, or by the AWS service."""


@dataclass(frozen=True, slots=True)
class CompiledStatement:
    """A statement whose patterns are parsed once, and then compared with many requests."""

    id: StatementId
    statement: Statement
    matches_action: Matcher
    matches_resource: Callable[[str, LowercaseContext], bool]
    conditions: tuple[CompiledCondition, ...]
    replaces_variables: bool = True

    @property
    def is_deny(self) -> bool:
        return self.statement.effect == "Deny"

    def applies(self, request: NormalizedRequest) -> bool:
        """Returns whether the action, the resource and all conditions match. The principal is not compared."""
        return (
            self.matches_action(request.action)
            and self.matches_resource(request.resource, request.context)
            and all(self.condition_holds(condition, request.context) for condition in self.conditions)
        )

    def condition_holds(self, condition: CompiledCondition, values: LowercaseContext) -> bool:
        """Returns whether the condition holds for these values of the request."""
        try:
            return condition.holds(values)
        except InvalidValue:
            return self.is_deny and UNREADABLE_VALUE_DENIES

    def principal_match(self, request: NormalizedRequest) -> PrincipalMatch | None:
        """Returns how the statement names the caller, or None. NotPrincipal names everybody who is not in its list."""
        if self.statement.not_principals is not None:
            listed = match_principal(self.statement.not_principals, request.principal)
            return PrincipalMatch.DIRECT if listed is None else None
        return match_principal(self.statement.principals or _NO_NAMES, request.principal)


@lru_cache(maxsize=2048)
def compile_policy(
    policy: Policy, policy_type: PolicyType, position: int = 0, *, match_every_resource: bool = False
) -> tuple[CompiledStatement, ...]:
    """Compiles the statements of a policy. `position` is the position of the policy among the policies of its type.

    `match_every_resource` is for trust policies: they name no resource, since they apply to their own role.
    """
    replace_variables = policy.version == "2012-10-17"
    return tuple(
        CompiledStatement(
            StatementId(policy_type, position, index, statement.sid),
            statement,
            action_matcher(statement),
            _matches_every_resource
            if match_every_resource
            else _resource_matcher(statement, replace_variables=replace_variables),
            tuple(
                compile_condition(condition, replace_variables=replace_variables) for condition in statement.conditions
            ),
            replace_variables,
        )
        for index, statement in enumerate(policy.statements)
    )


def match_principal(names: PrincipalNames, principal: Principal) -> PrincipalMatch | None:
    """Returns the most direct match of the caller with the names, or None if no name matches."""
    matches = [_match_aws_principal(name, principal) for name in names.get("AWS", ())]
    if principal.service and principal.service in names.get("Service", ()):
        matches.append(PrincipalMatch.DIRECT)
    return max((match for match in matches if match is not None), default=None)


def action_matcher(statement: Statement) -> Matcher:
    """Returns a function that says whether an action in lower case matches Action or NotAction of the statement."""
    if statement.actions:
        return _any_action_matcher(statement.actions)
    if statement.not_actions:
        is_listed = _any_action_matcher(statement.not_actions)
        return lambda action: not is_listed(action)
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
    return PrincipalMatch.ACCOUNT if _account_id(name) == principal.account else None


def _account_id(name: str) -> str:
    """Returns the id of an account that is named by its id or by the ARN of its root. Returns "" for other ARNs."""
    segments = name.split(":", ARN_SEGMENT_COUNT - 1)
    if len(segments) < ARN_SEGMENT_COUNT:
        return name
    return segments[4] if segments[5] == "root" else ""


def _any_action_matcher(actions: tuple[str, ...]) -> Matcher:
    names = [action.lower() for action in actions]
    exact = frozenset(name for name in names if not {"*", "?"} & set(name))
    globs = [compile_glob(parse_wildcards(name)) for name in names if name not in exact]
    return lambda action: action in exact or any(glob.matches(action) for glob in globs)


def _resource_matcher(statement: Statement, *, replace_variables: bool) -> Callable[[str, LowercaseContext], bool]:
    resources = statement.resources or statement.not_resources
    patterns = [_compile_arn(resource, replace_variables=replace_variables) for resource in resources]

    def matches_any(resource: str, values: LowercaseContext) -> bool:
        return any((matcher := pattern(values)) is not None and matcher(resource) for pattern in patterns)

    def matches_none(resource: str, values: LowercaseContext) -> bool:
        if not UNRESOLVED_NOT_RESOURCE_APPLIES and any(pattern(values) is None for pattern in patterns):
            return False
        return not matches_any(resource, values)

    return matches_none if statement.not_resources else matches_any


def _compile_arn(resource: str, *, replace_variables: bool) -> CompiledValue:
    """Compiles an ARN pattern. Only the last segment can have variables. In the other segments `${` is plain text."""
    if resource == "*":
        return lambda _: _matches_everything
    *first_segments, last_segment = _arn_segments(resource)
    first_patterns = [parse_wildcards(segment) for segment in first_segments]
    last_pattern = parse_pattern(last_segment, has_variables=replace_variables)
    return compile_pattern(last_pattern, lambda last: arn_matcher([*first_patterns, last]))


def _arn_segments(resource: str) -> list[str]:
    """Returns the segments of an ARN pattern. A pattern that ends in `*` gets `*` for each missing segment."""
    segments = resource.split(":", ARN_SEGMENT_COUNT - 1)
    if SHORT_ARN_IS_COMPLETED and resource.endswith("*"):
        return [*segments, *("*" * (ARN_SEGMENT_COUNT - len(segments)))]
    return segments


def _matches_every_resource(_: str, __: LowercaseContext) -> bool:
    return True


def _matches_everything(_: str) -> bool:
    return True
