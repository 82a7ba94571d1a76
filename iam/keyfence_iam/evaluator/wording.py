"""Denials in AWS's own words."""

from keyfence_iam.evaluator.authorisation import Authorisation
from keyfence_iam.evaluator.decision import Denied, Kind

NAMES: dict[Kind, str] = {
    "identity": "identity-based policy",
    "boundary": "permissions boundary",
    "session": "session policy",
    "resource": "resource-based policy",
}
ARTICLES: dict[Kind, str] = {"identity": "an", "boundary": "a", "session": "a", "resource": "a"}


def denial(decision: Denied, asked: Authorisation, session_arn: str) -> str:
    """The message of an AccessDeniedException. A condition that failed is never named."""
    refused = f"User: {session_arn} is not authorized to perform: {asked.action} on resource: {asked.resource}"
    return f"{refused} {reason(decision, asked.action)}"


def reason(decision: Denied, action: str) -> str:
    name = NAMES[decision.kind]
    if decision.explicit:
        return f"with an explicit deny in {ARTICLES[decision.kind]} {name}"
    return f"because no {name} allows the {action} action"
