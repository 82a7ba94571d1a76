"""Decisions: allowed or denied, by which statement, and the message of an AccessDeniedException."""

from dataclasses import dataclass
from typing import Literal

from keyfence_iam.evaluator.request import AuthorizationRequest

PolicyType = Literal["identity", "boundary", "session", "resource"]

POLICY_TYPE_NAMES: dict[PolicyType, str] = {
    "identity": "identity-based policy",
    "boundary": "permissions boundary",
    "session": "session policy",
    "resource": "resource-based policy",
}
_ARTICLES: dict[PolicyType, str] = {"identity": "an", "boundary": "a", "session": "a", "resource": "a"}


@dataclass(frozen=True, slots=True)
class StatementId:
    """A statement by the type of its policy, and the positions of the policy and of the statement."""

    policy_type: PolicyType
    policy: int
    statement: int
    sid: str | None = None

    def __str__(self) -> str:
        sid = f" ({self.sid})" if self.sid else ""
        return f"{self.policy_type}[{self.policy}].Statement[{self.statement}]{sid}"


@dataclass(frozen=True, slots=True)
class Allowed:
    """The statement `by` allows the request, and no policy limits it."""

    by: StatementId
    needs_identity_policy: bool = False
    """Whether a trust policy trusts the whole account of the caller: then an identity policy must allow it too."""


@dataclass(frozen=True, slots=True)
class Denied:
    """The statement `by` denies the request or, if `by` is None, no policy of this type allows it."""

    policy_type: PolicyType
    by: StatementId | None = None

    @property
    def explicit(self) -> bool:
        return self.by is not None


Decision = Allowed | Denied


def access_denied_message(decision: Denied, request: AuthorizationRequest, session_arn: str) -> str:
    """Returns AWS's message for a denied request. Like AWS's, it never names the condition that failed."""
    denied = f"User: {session_arn} is not authorized to perform: {request.action} on resource: {request.resource}"
    return f"{denied} {denial_reason(decision, request.action)}"


def denial_reason(decision: Denied, action: str) -> str:
    name = POLICY_TYPE_NAMES[decision.policy_type]
    if decision.explicit:
        return f"with an explicit deny in {_ARTICLES[decision.policy_type]} {name}"
    return f"because no {name} allows the {action} action"
