"""`Allowed` and `Denied`, with the statement that decided, and the message of an AccessDeniedException."""

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
    """Identifies a statement by its policy and its position in the policy. Positions begin at 0."""

    policy_type: PolicyType
    policy_position: int
    """The position of the policy among the policies of its type."""
    statement_position: int
    sid: str | None = None

    def __str__(self) -> str:
        sid = f" ({self.sid})" if self.sid else ""
        return f"{self.policy_type}[{self.policy_position}].Statement[{self.statement_position}]{sid}"


@dataclass(frozen=True, slots=True)
class Allowed:
    """A statement allows the request, and no policy denies it."""

    statement_id: StatementId
    needs_identity_policy: bool = False
    """True if a trust policy trusts the whole account of the caller: an identity policy must allow the call too."""


@dataclass(frozen=True, slots=True)
class Denied:
    """The request is denied. If `statement_id` is None, no policy of this type allows the request.

    Otherwise `statement_id` identifies a Deny statement that applies to the request.
    """

    policy_type: PolicyType
    statement_id: StatementId | None = None

    @property
    def is_explicit(self) -> bool:
        return self.statement_id is not None


Decision = Allowed | Denied


def access_denied_message(decision: Denied, request: AuthorizationRequest, session_arn: str) -> str:
    """Returns the error message of AWS for a denied request. It never names the condition that failed."""
    fact = f"User: {session_arn} is not authorized to perform: {request.action} on resource: {request.resource}"
    return f"{fact} {denial_reason(decision, request.action)}"


def denial_reason(decision: Denied, action: str) -> str:
    """Returns the second half of `access_denied_message`: which type of policy denies or does not allow the action."""
    name = POLICY_TYPE_NAMES[decision.policy_type]
    if decision.is_explicit:
        return f"with an explicit deny in {_ARTICLES[decision.policy_type]} {name}"
    return f"because no {name} allows the {action} action"
