"""An explanation lists the elements of each statement that match, and those that do not."""

from keyfence_iam.evaluator.decision import Denied
from keyfence_iam.evaluator.evaluation_logic import Policies
from keyfence_iam.evaluator.explanation import ElementMatch, Explanation, explain
from keyfence_iam.evaluator.request import AuthorizationRequest, Principal
from keyfence_iam.policy import parse_policy

TABLE_ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/app"
POLICY = parse_policy(
    {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Sid": "Own",
                "Effect": "Allow",
                "Action": ["dynamodb:GetItem", "dynamodb:Query"],
                "Resource": TABLE_ARN,
                "Condition": {
                    "ForAllValues:StringLike": {"dynamodb:LeadingKeys": "TENANT#${aws:PrincipalTag/tenant}#*"},
                    "Null": {"dynamodb:LeadingKeys": "false"},
                },
            },
            {"Sid": "DenyScan", "Effect": "Deny", "Action": "dynamodb:Scan", "Resource": "*"},
        ],
    }
)
LEADING_KEYS_CONDITION = "ForAllValues:StringLike dynamodb:LeadingKeys"


def explanation_for(tenant: str | None, action: str = "dynamodb:GetItem") -> Explanation:
    tag = {} if tenant is None else {"aws:PrincipalTag/tenant": tenant}
    request = AuthorizationRequest(action, TABLE_ARN, {"dynamodb:LeadingKeys": ("TENANT#acme#1",), **tag})
    return explain(Policies((POLICY,)), request)


def test_a_denial_of_another_tenants_item_names_the_condition_that_failed() -> None:
    explanation = explanation_for("globex")
    own, scan = explanation.statements
    assert explanation.decision == Denied("identity")
    assert (own.id.sid, own.applies) == ("Own", False)
    assert [one.element for one in own.elements if not one.matched] == [LEADING_KEYS_CONDITION]
    assert ElementMatch(LEADING_KEYS_CONDITION, False, ("TENANT#globex#*",), ("TENANT#acme#1",)) in own.elements
    assert [one.element for one in scan.elements if not one.matched] == ["Action"]


def test_every_element_of_the_allowing_statement_matches() -> None:
    own, scan = explanation_for("acme").statements
    assert own.applies
    assert [one.element for one in own.elements] == [
        "Action",
        "Resource",
        LEADING_KEYS_CONDITION,
        "Null dynamodb:LeadingKeys",
    ]
    assert not scan.applies


def test_a_variable_without_a_value_is_none() -> None:
    own, _ = explanation_for(None).statements
    assert ElementMatch(LEADING_KEYS_CONDITION, False, (None,), ("TENANT#acme#1",)) in own.elements


def test_a_deny_that_applies_is_explained() -> None:
    explanation = explanation_for("acme", "dynamodb:scan")
    own, scan = explanation.statements
    assert (own.applies, scan.applies, scan.effect) == (False, True, "Deny")
    assert explanation.decision == Denied("identity", scan.id)


def test_a_resource_policy_lists_its_principals() -> None:
    session = "arn:aws:sts::000000000000:assumed-role/app/one"
    principal = Principal(account="000000000000", session_arn=session)
    statement_json = {"Effect": "Allow", "Principal": {"AWS": session}, "Action": "*", "Resource": "*"}
    policy = parse_policy({"Version": "2012-10-17", "Statement": statement_json}, kind="resource")
    request = AuthorizationRequest("dynamodb:GetItem", TABLE_ARN)
    (statement,) = explain(Policies((), resource=(policy,)), request, principal).statements
    assert statement.elements[0] == ElementMatch("Principal", True, (session,), session)
