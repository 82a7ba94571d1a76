"""IAM's decision on one authorisation: explicit denials first, then who must allow it."""

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from keyfence_iam.evaluator.decision import Allowed, Decision, Denied, PolicyType
from keyfence_iam.evaluator.request import AuthorizationRequest, Principal, RequestContext
from keyfence_iam.evaluator.statement import CompiledStatement, PrincipalMatch, compile_policy
from keyfence_iam.policy import Policy

logger = logging.getLogger(__name__)
_LIMITS: tuple[PolicyType, ...] = ("boundary", "session")
_ACCOUNT = 4


@dataclass(frozen=True, slots=True)
class Policies:
    """All that applies to a caller. None is "there is no such policy"; an empty tuple is one that allows nothing."""

    identity: tuple[Policy, ...]
    boundary: tuple[Policy, ...] | None = None
    session: tuple[Policy, ...] | None = None
    resource: tuple[Policy, ...] = ()
    deny_statements: tuple[CompiledStatement, ...] = field(init=False, repr=False, compare=False)
    allow_statements: dict[PolicyType, tuple[CompiledStatement, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        everything = tuple(self.compiled_statements())
        grants: dict[PolicyType, tuple[CompiledStatement, ...]] = {
            kind: tuple(rule for rule in everything if rule.id.policy_type == kind and not rule.denies)
            for kind, policies in self.by_type()
            if policies is not None
        }
        object.__setattr__(self, "deny_statements", tuple(rule for rule in everything if rule.denies))
        object.__setattr__(self, "allow_statements", grants)

    def by_type(self) -> tuple[tuple[PolicyType, tuple[Policy, ...] | None], ...]:
        return (
            ("identity", self.identity),
            ("boundary", self.boundary),
            ("session", self.session),
            ("resource", self.resource),
        )

    def compiled_statements(self) -> Iterator[CompiledStatement]:
        for kind, policies in self.by_type():
            for position, policy in enumerate(policies or ()):
                yield from compile_policy(policy, kind, position)


def evaluate(policies: Policies, request: AuthorizationRequest, principal: Principal | None = None) -> Decision:
    """Allowed or denied, and by what. What cannot be evaluated is denied."""
    try:
        return _decide(policies, RequestContext.of(request, principal))
    except Exception:
        logger.exception("an authorisation could not be evaluated, and is denied")
        return Denied("identity")


def _decide(policies: Policies, question: RequestContext) -> Decision:
    """The order of the kinds is AWS's; it decides which of several reasons is given, never what the decision is."""
    denial = next((rule for rule in policies.deny_statements if _concerns(rule, question)), None)
    if denial is not None:
        return Denied(denial.id.policy_type, denial.id)
    foreign = _is_foreign(question)
    named, granted_there = _most_direct(policies.allow_statements["resource"], question)
    if granted_there is not None and named is PrincipalMatch.DIRECT and not foreign:
        return Allowed(granted_there.id)
    grant = _first(policies.allow_statements["identity"], question)
    if grant is None and named is PrincipalMatch.ROLE and not foreign:
        grant = granted_there
    if grant is None:
        return Denied("identity")
    for kind in _LIMITS:
        if kind in policies.allow_statements and _first(policies.allow_statements[kind], question) is None:
            return Denied(kind)
    return Denied("resource") if foreign and granted_there is None else Allowed(grant.id)


def evaluate_trust(trust: Policy, principal: Principal, request: AuthorizationRequest) -> Decision:
    """Whether the trust policy of a role lets the caller do what it asks: assume the role, tag the session."""
    try:
        return _decide_trust(compile_policy(trust, "resource", anywhere=True), RequestContext.of(request, principal))
    except Exception:
        logger.exception("a trust policy could not be evaluated, and denies")
        return Denied("resource")


def _decide_trust(trust: tuple[CompiledStatement, ...], question: RequestContext) -> Decision:
    denial = next((rule for rule in trust if rule.denies and _concerns(rule, question)), None)
    if denial is not None:
        return Denied("resource", denial.id)
    named, grant = _most_direct([rule for rule in trust if not rule.denies], question)
    return (
        Denied("resource")
        if grant is None
        else Allowed(grant.id, needs_identity_policy=named is PrincipalMatch.ACCOUNT)
    )


def _concerns(rule: CompiledStatement, question: RequestContext) -> bool:
    return rule.applies(question) and (rule.id.policy_type != "resource" or rule.principal_match(question) is not None)


def _first(grants: Iterable[CompiledStatement], question: RequestContext) -> CompiledStatement | None:
    return next((rule for rule in grants if rule.applies(question)), None)


def _most_direct(
    grants: Iterable[CompiledStatement], question: RequestContext
) -> tuple[PrincipalMatch | None, CompiledStatement | None]:
    """Of the grants that name the caller, the one that names it most directly."""
    best: tuple[PrincipalMatch | None, CompiledStatement | None] = (None, None)
    for rule in grants:
        named = rule.principal_match(question)
        if named is not None and (best[0] is None or named > best[0]) and rule.applies(question):
            best = (named, rule)
    return best


def _is_foreign(question: RequestContext) -> bool:
    """The resource is another account's, where both must allow."""
    segments = question.resource.split(":", 5)
    owner = segments[_ACCOUNT] if len(segments) > _ACCOUNT else ""
    return bool(owner and question.principal.account and owner != question.principal.account)
