"""`Allowed`, `Denied`, the deciding statement, AWS's words for a denial."""

from dataclasses import dataclass
from typing import Literal

from keyfence_iam.evaluator.request import AuthorizationRequest

PolicyType = Literal["identity", "boundary", "session", "resource"]


@dataclass(frozen=True, slots=True)
class StatementId:
    """A statement: the kind of policy, which policy of that kind, which statement of it."""

    policy_type: PolicyType
    policy: int
    statement: int
    sid: str | None = None

    def __str__(self) -> str:
        named = f" ({self.sid})" if self.sid else ""
        return f"{self.policy_type}[{self.policy}].Statement[{self.statement}]{named}"


@dataclass(frozen=True, slots=True)
class Allowed:
    """Every kind of policy that was asked has a statement that allows it; `by` is the one that granted."""

    by: StatementId
    needs_identity_policy: bool = False
    """A trust policy's: the caller's account is trusted as a whole, so that its identity policies must allow it too."""


@dataclass(frozen=True, slots=True)
class Denied:
    """Refused by a statement (`by`), or because no statement of this kind allows it (`by` is None)."""

    policy_type: PolicyType
    by: StatementId | None = None

    @property
    def explicit(self) -> bool:
        return self.by is not None


Decision = Allowed | Denied


POLICY_TYPE_NAMES: dict[PolicyType, str] = {
    "identity": "identity-based policy",
    "boundary": "permissions boundary",
    "session": "session policy",
    "resource": "resource-based policy",
}
ARTICLES: dict[PolicyType, str] = {"identity": "an", "boundary": "a", "session": "a", "resource": "a"}


def access_denied_message(decision: Denied, asked: AuthorizationRequest, session_arn: str) -> str:
    """The message of an AccessDeniedException. A condition that failed is never named."""
    refused = f"User: {session_arn} is not authorized to perform: {asked.action} on resource: {asked.resource}"
    return f"{refused} {denial_reason(decision, asked.action)}"


def denial_reason(decision: Denied, action: str) -> str:
    name = POLICY_TYPE_NAMES[decision.policy_type]
    if decision.explicit:
        return f"with an explicit deny in {ARTICLES[decision.policy_type]} {name}"
    return f"because no {name} allows the {action} action"
