"""Denials have the text of AWS."""

import pytest

from keyfence_iam.evaluator.decision import Denied, PolicyType, StatementId, access_denied_message
from keyfence_iam.evaluator.request import AuthorizationRequest

SESSION = "arn:aws:sts::000000000000:assumed-role/tenant-read/acme"
TABLE = "arn:aws:dynamodb:us-east-1:000000000000:table/keyfence"
ASKED = AuthorizationRequest("dynamodb:Query", TABLE)
REFUSED = f"User: {SESSION} is not authorized to perform: dynamodb:Query on resource: {TABLE} "


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("identity", "because no identity-based policy allows the dynamodb:Query action"),
        ("session", "because no session policy allows the dynamodb:Query action"),
        ("boundary", "because no permissions boundary allows the dynamodb:Query action"),
        ("resource", "because no resource-based policy allows the dynamodb:Query action"),
    ],
)
def test_an_implicit_denial_names_the_policy_type_that_does_not_allow(kind: PolicyType, words: str) -> None:
    assert access_denied_message(Denied(kind), ASKED, SESSION) == REFUSED + words


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("identity", "with an explicit deny in an identity-based policy"),
        ("session", "with an explicit deny in a session policy"),
        ("boundary", "with an explicit deny in a permissions boundary"),
        ("resource", "with an explicit deny in a resource-based policy"),
    ],
)
def test_an_explicit_denial_names_the_policy_type_that_denies(kind: PolicyType, words: str) -> None:
    assert access_denied_message(Denied(kind, StatementId(kind, 0, 0)), ASKED, SESSION) == REFUSED + words
