"""IAM's decision on one authorisation: explicit denials first, then who must allow it."""

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from keyfence_iam.evaluator.decision import Allowed, Decision, Denied, Kind
from keyfence_iam.evaluator.request import Authorisation, Principal, Question
from keyfence_iam.evaluator.statement import Naming, Rule, rules
from keyfence_iam.policy import Policy

logger = logging.getLogger(__name__)
_LIMITS: tuple[Kind, ...] = ("boundary", "session")
_ACCOUNT = 4


@dataclass(frozen=True, slots=True)
class Policies:
    """All that applies to a caller. None is "there is no such policy"; an empty tuple is one that allows nothing."""

    identity: tuple[Policy, ...]
    boundary: tuple[Policy, ...] | None = None
    session: tuple[Policy, ...] | None = None
    resource: tuple[Policy, ...] = ()
    denials: tuple[Rule, ...] = field(init=False, repr=False, compare=False)
    grants: dict[Kind, tuple[Rule, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        everything = tuple(self.rules())
        grants: dict[Kind, tuple[Rule, ...]] = {
            kind: tuple(rule for rule in everything if rule.origin.kind == kind and not rule.denies)
            for kind, policies in self.kinds()
            if policies is not None
        }
        object.__setattr__(self, "denials", tuple(rule for rule in everything if rule.denies))
        object.__setattr__(self, "grants", grants)

    def kinds(self) -> tuple[tuple[Kind, tuple[Policy, ...] | None], ...]:
        return (
            ("identity", self.identity),
            ("boundary", self.boundary),
            ("session", self.session),
            ("resource", self.resource),
        )

    def rules(self) -> Iterator[Rule]:
        for kind, policies in self.kinds():
            for position, policy in enumerate(policies or ()):
                yield from rules(policy, kind, position)


def evaluate(policies: Policies, asked: Authorisation, principal: Principal | None = None) -> Decision:
    """Allowed or denied, and by what. What cannot be evaluated is denied."""
    try:
        return _decide(policies, Question.of(asked, principal))
    except Exception:
        logger.exception("an authorisation could not be evaluated, and is denied")
        return Denied("identity")


def _decide(policies: Policies, question: Question) -> Decision:
    """The order of the kinds is AWS's; it decides which of several reasons is given, never what the decision is."""
    denial = next((rule for rule in policies.denials if _concerns(rule, question)), None)
    if denial is not None:
        return Denied(denial.origin.kind, denial.origin)
    foreign = _is_foreign(question)
    named, granted_there = _most_direct(policies.grants["resource"], question)
    if granted_there is not None and named is Naming.DIRECT and not foreign:
        return Allowed(granted_there.origin)
    grant = _first(policies.grants["identity"], question)
    if grant is None and named is Naming.ROLE and not foreign:
        grant = granted_there
    if grant is None:
        return Denied("identity")
    for kind in _LIMITS:
        if kind in policies.grants and _first(policies.grants[kind], question) is None:
            return Denied(kind)
    return Denied("resource") if foreign and granted_there is None else Allowed(grant.origin)


def trusts(trust: Policy, principal: Principal, asked: Authorisation) -> Decision:
    """Whether the trust policy of a role lets the caller do what it asks: assume the role, tag the session."""
    try:
        return _decide_trust(rules(trust, "resource", anywhere=True), Question.of(asked, principal))
    except Exception:
        logger.exception("a trust policy could not be evaluated, and denies")
        return Denied("resource")


def _decide_trust(trust: tuple[Rule, ...], question: Question) -> Decision:
    denial = next((rule for rule in trust if rule.denies and _concerns(rule, question)), None)
    if denial is not None:
        return Denied("resource", denial.origin)
    named, grant = _most_direct([rule for rule in trust if not rule.denies], question)
    return Denied("resource") if grant is None else Allowed(grant.origin, delegated=named is Naming.ACCOUNT)


def _concerns(rule: Rule, question: Question) -> bool:
    return rule.applies(question) and (rule.origin.kind != "resource" or rule.naming(question) is not None)


def _first(grants: Iterable[Rule], question: Question) -> Rule | None:
    return next((rule for rule in grants if rule.applies(question)), None)


def _most_direct(grants: Iterable[Rule], question: Question) -> tuple[Naming | None, Rule | None]:
    """Of the grants that name the caller, the one that names it most directly."""
    best: tuple[Naming | None, Rule | None] = (None, None)
    for rule in grants:
        named = rule.naming(question)
        if named is not None and (best[0] is None or named > best[0]) and rule.applies(question):
            best = (named, rule)
    return best


def _is_foreign(question: Question) -> bool:
    """The resource is another account's, where both must allow."""
    segments = question.resource.split(":", 5)
    owner = segments[_ACCOUNT] if len(segments) > _ACCOUNT else ""
    return bool(owner and question.principal.account and owner != question.principal.account)
