"""IAM's decision on an authorization request: explicit denials first, then the policies that must allow it."""

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from keyfence_iam.evaluator.decision import Allowed, Decision, Denied, PolicyType
from keyfence_iam.evaluator.request import AuthorizationRequest, Principal, RequestContext
from keyfence_iam.evaluator.statement_matching import CompiledStatement, PrincipalMatch, compile_policy
from keyfence_iam.policy import Policy

logger = logging.getLogger(__name__)

_LIMITING_TYPES: tuple[PolicyType, ...] = ("boundary", "session")
_ACCOUNT_SEGMENT = 4


@dataclass(frozen=True, slots=True)
class Policies:
    """All policies that apply to a caller. None means that there is no such policy; an empty tuple allows nothing."""

    identity: tuple[Policy, ...]
    boundary: tuple[Policy, ...] | None = None
    session: tuple[Policy, ...] | None = None
    resource: tuple[Policy, ...] = ()
    deny_statements: tuple[CompiledStatement, ...] = field(init=False, repr=False, compare=False)
    allow_statements: dict[PolicyType, tuple[CompiledStatement, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        statements = tuple(self.compiled_statements())
        allow: dict[PolicyType, tuple[CompiledStatement, ...]] = {
            policy_type: tuple(one for one in statements if one.id.policy_type == policy_type and not one.denies)
            for policy_type, policies in self.by_type()
            if policies is not None
        }
        object.__setattr__(self, "deny_statements", tuple(one for one in statements if one.denies))
        object.__setattr__(self, "allow_statements", allow)

    def by_type(self) -> tuple[tuple[PolicyType, tuple[Policy, ...] | None], ...]:
        return (
            ("identity", self.identity),
            ("boundary", self.boundary),
            ("session", self.session),
            ("resource", self.resource),
        )

    def compiled_statements(self) -> Iterator[CompiledStatement]:
        for policy_type, policies in self.by_type():
            for position, policy in enumerate(policies or ()):
                yield from compile_policy(policy, policy_type, position)


def evaluate(policies: Policies, request: AuthorizationRequest, principal: Principal | None = None) -> Decision:
    """Decides a request. A request that cannot be evaluated is denied."""
    try:
        return _decide(policies, RequestContext.of(request, principal))
    except Exception:
        logger.exception("an authorization request could not be evaluated, and is denied")
        return Denied("identity")


def evaluate_trust(trust: Policy, principal: Principal, request: AuthorizationRequest) -> Decision:
    """Decides by the trust policy of a role: whether the caller may assume the role, or tag the session."""
    try:
        return _decide_trust(compile_policy(trust, "resource", anywhere=True), RequestContext.of(request, principal))
    except Exception:
        logger.exception("a trust policy could not be evaluated, and denies")
        return Denied("resource")


def _decide(policies: Policies, request: RequestContext) -> Decision:
    """Checks policy types in AWS's order. The order decides which of several reasons is given, not the decision."""
    denying = next((statement for statement in policies.deny_statements if _applies_to(statement, request)), None)
    if denying is not None:
        return Denied(denying.id.policy_type, denying.id)
    cross_account = _is_cross_account(request)
    match, resource_grant = _most_direct_grant(policies.allow_statements["resource"], request)
    if resource_grant is not None and match is PrincipalMatch.DIRECT and not cross_account:
        return Allowed(resource_grant.id)
    grant = _first_applying(policies.allow_statements["identity"], request)
    if grant is None and match is PrincipalMatch.ROLE and not cross_account:
        grant = resource_grant
    if grant is None:
        return Denied("identity")
    for policy_type in _LIMITING_TYPES:
        statements = policies.allow_statements.get(policy_type)
        if statements is not None and _first_applying(statements, request) is None:
            return Denied(policy_type)
    return Denied("resource") if cross_account and resource_grant is None else Allowed(grant.id)


def _decide_trust(trust: tuple[CompiledStatement, ...], request: RequestContext) -> Decision:
    denying = next((one for one in trust if one.denies and _applies_to(one, request)), None)
    if denying is not None:
        return Denied("resource", denying.id)
    match, grant = _most_direct_grant([one for one in trust if not one.denies], request)
    if grant is None:
        return Denied("resource")
    return Allowed(grant.id, needs_identity_policy=match is PrincipalMatch.ACCOUNT)


def _applies_to(statement: CompiledStatement, request: RequestContext) -> bool:
    if not statement.applies(request):
        return False
    return statement.id.policy_type != "resource" or statement.principal_match(request) is not None


def _first_applying(statements: Iterable[CompiledStatement], request: RequestContext) -> CompiledStatement | None:
    return next((statement for statement in statements if statement.applies(request)), None)


def _most_direct_grant(
    statements: Iterable[CompiledStatement], request: RequestContext
) -> tuple[PrincipalMatch | None, CompiledStatement | None]:
    """Returns the applying statement that names the caller most directly, and how it names the caller."""
    best: tuple[PrincipalMatch | None, CompiledStatement | None] = (None, None)
    for statement in statements:
        match = statement.principal_match(request)
        if match is not None and (best[0] is None or match > best[0]) and statement.applies(request):
            best = (match, statement)
    return best


def _is_cross_account(request: RequestContext) -> bool:
    """Returns whether the resource is in another account. Then both accounts must allow the request."""
    segments = request.resource.split(":", 5)
    owner = segments[_ACCOUNT_SEGMENT] if len(segments) > _ACCOUNT_SEGMENT else ""
    return bool(owner and request.principal.account and owner != request.principal.account)
