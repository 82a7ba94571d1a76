"""The policy evaluation logic of IAM: an explicit deny wins, then each type of policy must allow the request."""

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from keyfence_iam.evaluator.decision import Allowed, Decision, Denied, PolicyType
from keyfence_iam.evaluator.request import AuthorizationRequest, NormalizedRequest, Principal
from keyfence_iam.evaluator.statement_matching import CompiledStatement, PrincipalMatch, compile_policy
from keyfence_iam.policy import Policy

logger = logging.getLogger(__name__)

_LIMITING_TYPES: tuple[PolicyType, ...] = ("boundary", "session")
"""Types of policies that grant nothing themselves.

If a caller has policies of such a type, and none of them allows the request, the request is denied.
"""
_ACCOUNT_SEGMENT = 4
"""The position of the account in the segments of an ARN."""


@dataclass(frozen=True, slots=True)
class Policies:
    """All policies that apply to a request.

    A boundary or session of None limits nothing. A boundary or session that is an empty tuple allows nothing.
    """

    identity: tuple[Policy, ...]
    boundary: tuple[Policy, ...] | None = None
    session: tuple[Policy, ...] | None = None
    resource: tuple[Policy, ...] = ()
    deny_statements: tuple[CompiledStatement, ...] = field(init=False, repr=False, compare=False)
    """The Deny statements of all policies."""
    allow_statements: dict[PolicyType, tuple[CompiledStatement, ...]] = field(init=False, repr=False, compare=False)
    """The Allow statements by type of policy, for each type that is not None."""

    def __post_init__(self) -> None:
        statements = tuple(self.compiled_statements())
        allow: dict[PolicyType, tuple[CompiledStatement, ...]] = {
            policy_type: tuple(
                statement
                for statement in statements
                if statement.id.policy_type == policy_type and not statement.is_deny
            )
            for policy_type, policies in self.policies_by_type()
            if policies is not None
        }
        object.__setattr__(self, "deny_statements", tuple(statement for statement in statements if statement.is_deny))
        object.__setattr__(self, "allow_statements", allow)

    def policies_by_type(self) -> tuple[tuple[PolicyType, tuple[Policy, ...] | None], ...]:
        return (
            ("identity", self.identity),
            ("boundary", self.boundary),
            ("session", self.session),
            ("resource", self.resource),
        )

    def compiled_statements(self) -> Iterator[CompiledStatement]:
        for policy_type, policies in self.policies_by_type():
            for position, policy in enumerate(policies or ()):
                yield from compile_policy(policy, policy_type, position)


def evaluate(policies: Policies, request: AuthorizationRequest, principal: Principal | None = None) -> Decision:
    """Returns the decision on a request. A request that cannot be evaluated is denied."""
    try:
        return _decide(policies, NormalizedRequest.of(request, principal))
    except Exception:
        logger.exception("an authorization request was denied because it could not be evaluated")
        return Denied("identity")


def evaluate_trust(trust: Policy, principal: Principal, request: AuthorizationRequest) -> Decision:
    """Returns the decision of a role's trust policy: may the caller assume the role, or tag the session?

    A request that cannot be evaluated is denied.
    """
    try:
        return _decide_trust(
            compile_policy(trust, "resource", match_every_resource=True), NormalizedRequest.of(request, principal)
        )
    except Exception:
        logger.exception("a role was not assumed because its trust policy could not be evaluated")
        return Denied("resource")


def _decide(policies: Policies, request: NormalizedRequest) -> Decision:
    """Returns the decision. The types of policies are checked in the order of AWS.

    The order does not change the decision. It only changes which of several reasons for a denial is returned.
    """
    explicit_deny = next(
        (statement for statement in policies.deny_statements if _applies_to_caller(statement, request)), None
    )
    if explicit_deny is not None:
        return Denied(explicit_deny.id.policy_type, explicit_deny.id)
    is_cross_account = _is_cross_account(request)
    principal_match, resource_grant = _most_direct_grant(policies.allow_statements["resource"], request)
    if resource_grant is not None and principal_match is PrincipalMatch.DIRECT and not is_cross_account:
        return Allowed(resource_grant.id)
    grant = _first_applying(policies.allow_statements["identity"], request)
    if grant is None and principal_match is PrincipalMatch.ROLE and not is_cross_account:
        grant = resource_grant
    if grant is None:
        return Denied("identity")
    for policy_type in _LIMITING_TYPES:
        statements = policies.allow_statements.get(policy_type)
        if statements is not None and _first_applying(statements, request) is None:
            return Denied(policy_type)
    return Denied("resource") if is_cross_account and resource_grant is None else Allowed(grant.id)


def _decide_trust(trust: tuple[CompiledStatement, ...], request: NormalizedRequest) -> Decision:
    explicit_deny = next(
        (statement for statement in trust if statement.is_deny and _applies_to_caller(statement, request)), None
    )
    if explicit_deny is not None:
        return Denied("resource", explicit_deny.id)
    principal_match, grant = _most_direct_grant([statement for statement in trust if not statement.is_deny], request)
    if grant is None:
        return Denied("resource")
    return Allowed(grant.id, needs_identity_policy=principal_match is PrincipalMatch.ACCOUNT)


def _applies_to_caller(statement: CompiledStatement, request: NormalizedRequest) -> bool:
    """Returns whether the statement applies to the request. In a resource or trust policy, it must name the caller.

    Statements of other policies name no principal: they apply to every caller that has the policy.
    """
    if not statement.applies(request):
        return False
    return statement.id.policy_type != "resource" or statement.principal_match(request) is not None


def _first_applying(statements: Iterable[CompiledStatement], request: NormalizedRequest) -> CompiledStatement | None:
    return next((statement for statement in statements if statement.applies(request)), None)


def _most_direct_grant(
    statements: Iterable[CompiledStatement], request: NormalizedRequest
) -> tuple[PrincipalMatch | None, CompiledStatement | None]:
    """Finds the statement that applies to the request and names the caller most directly.

    Returns how the statement names the caller, and the statement. Returns (None, None) if there is no such statement.
    """
    best: tuple[PrincipalMatch | None, CompiledStatement | None] = (None, None)
    for statement in statements:
        match = statement.principal_match(request)
        if match is not None and (best[0] is None or match > best[0]) and statement.applies(request):
            best = (match, statement)
    return best


def _is_cross_account(request: NormalizedRequest) -> bool:
    """Returns whether the resource belongs to another account. Then both accounts must allow the request."""
    segments = request.resource.split(":", 5)
    owner_account = segments[_ACCOUNT_SEGMENT] if len(segments) > _ACCOUNT_SEGMENT else ""
    return bool(owner_account and request.principal.account and owner_account != request.principal.account)
