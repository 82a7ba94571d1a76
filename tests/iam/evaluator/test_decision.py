"""The message of a denied request is the message of AWS."""

import pytest

from keyfence_iam.evaluator.decision import Denied, PolicyType, StatementId, access_denied_message
from keyfence_iam.evaluator.request import AuthorizationRequest

SESSION_ARN = "arn:aws:sts::000000000000:assumed-role/tenant-read/acme"
TABLE_ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/keyfence"
REQUEST = AuthorizationRequest("dynamodb:Query", TABLE_ARN)
DENIAL = f"User: {SESSION_ARN} is not authorized to perform: dynamodb:Query on resource: {TABLE_ARN} "


@pytest.mark.parametrize(
    ("policy_type", "reason"),
    [
        ("identity", "because no identity-based policy allows the dynamodb:Query action"),
        ("session", "because no session policy allows the dynamodb:Query action"),
        ("boundary", "because no permissions boundary allows the dynamodb:Query action"),
        ("resource", "because no resource-based policy allows the dynamodb:Query action"),
    ],
)
def test_an_implicit_denial_names_the_policy_type_that_does_not_allow(policy_type: PolicyType, reason: str) -> None:
    assert access_denied_message(Denied(policy_type), REQUEST, SESSION_ARN) == DENIAL + reason


@pytest.mark.parametrize(
    ("policy_type", "reason"),
    [
        ("identity", "with an explicit deny in an identity-based policy"),
        ("session", "with an explicit deny in a session policy"),
        ("boundary", "with an explicit deny in a permissions boundary"),
        ("resource", "with an explicit deny in a resource-based policy"),
    ],
)
def test_an_explicit_denial_names_the_policy_type_that_denies(policy_type: PolicyType, reason: str) -> None:
    assert (
        access_denied_message(Denied(policy_type, StatementId(policy_type, 0, 0)), REQUEST, SESSION_ARN)
        == DENIAL + reason
    )
