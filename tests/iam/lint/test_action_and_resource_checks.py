"""Actions and resources that reach other tenants are found."""

import pytest

from keyfence_iam.lint import lint
from keyfence_iam.policy import Policy, Statement
from tests.iam.lint.sample_policies import (
    GOOD_POLICIES,
    OWN_KEYS,
    TABLE,
    finding_names,
    policy,
    policy_allowing,
    statement,
)


@pytest.mark.parametrize(
    ("resource", "is_wide"),
    [
        (TABLE, False),
        (f"{TABLE}/index/*", False),
        (f"{TABLE}/index/GSI?", False),
        (f"{TABLE}/stream/*", False),
        (f"{TABLE}/*", True),
        (f"{TABLE}*", True),
        (f"{TABLE}/ind*", True),
        (TABLE.replace("app", "*"), True),
        (TABLE.replace("app", "ap?"), True),
        ("arn:aws:dynamodb:*:*:*", True),
        ("*", True),
    ],
)
def test_a_wildcard_is_accepted_only_in_names_of_indexes_and_streams(resource: str, is_wide: bool) -> None:
    document = policy(statement("Allow", "dynamodb:DescribeTable", None, resource))
    assert ("table-wildcard" in finding_names(document)) == is_wide


@pytest.mark.parametrize(
    ("tenant", "name"),
    [
        ("${aws:PrincipalTag/tenant}*", "table-wildcard"),
        ("${aws:PrincipalTag/tenant}?", "table-wildcard"),
        ("${aws:PrincipalTag/tenant}-*", "table-wildcard"),
        ("*", "table-wildcard"),
        ("${aws:username}", "fence-on-another-variable"),
        ("${aws:RequestTag/tenant}", "fence-on-another-variable"),
        ("${aws:PrincipalTag/tenant, 'acme'}", "variable-with-default"),
        ("${aws:PrincipalTag/Tenant}", "tag-key-spelling"),
    ],
)
@pytest.mark.parametrize("index", ["", "/index/GSI1"])
def test_a_silo_that_other_tenants_reach_is_found(tenant: str, name: str, index: str) -> None:
    condition = {
        "ForAllValues:StringLike": {"dynamodb:LeadingKeys": OWN_KEYS},
        "Null": {"dynamodb:LeadingKeys": "false"},
    }
    document = policy(statement("Allow", "dynamodb:Query", condition, f"{TABLE}-silo-{tenant}{index}"))
    assert finding_names(document) == [name]
    with_exemption = document["Statement"][0] | {"Sid": "AcceptH29"}
    assert finding_names(policy(with_exemption)) == [name], "a Sid exempts no item action"


def test_a_null_guard_without_a_condition_on_leading_keys_is_found() -> None:
    document = policy(statement("Allow", "dynamodb:GetItem", {"Null": {"dynamodb:LeadingKeys": "false"}}))
    assert finding_names(document) == ["unfenced-data-call"]


@pytest.mark.parametrize(
    "action", ["dynamodb:DeleteTable", "dynamodb:UpdateTable", "dynamodb:UpdateTimeToLive", "dynamodb:DeleteBackup"]
)
def test_table_administration_in_a_policy_with_item_actions_is_found(action: str) -> None:
    tenant_items = GOOD_POLICIES["leading keys of the caller's tenant"]["Statement"][0]
    administration = statement("Allow", action)
    assert finding_names(policy(tenant_items, administration)) == ["table-administration"]
    assert finding_names(policy(administration, tenant_items)) == ["table-administration"]
    assert finding_names(policy_allowing("dynamodb:GetItem", action)) == [], "a Null guard never allows it"


def test_delete_table_is_found_in_a_policy_without_item_actions() -> None:
    assert finding_names(policy(statement("Allow", ["dynamodb:UpdateTable", "dynamodb:DeleteTable"]))) == [
        "table-administration"
    ]


@pytest.mark.parametrize("resource", ["arn:aws:dynamodb:*", "arn:aws:dynamodb:us-east-1:*"])
def test_an_arn_with_missing_segments_is_found(resource: str) -> None:
    assert finding_names(policy(statement("Allow", "dynamodb:DescribeTable", None, resource))) == ["table-wildcard"]


def test_a_bracket_in_an_action_is_not_a_wildcard() -> None:
    """IAM knows only * and ?."""
    bracket = Statement(effect="Allow", actions=("dynamodb:[GS]can",), resources=(TABLE,))
    assert [finding.name for finding in lint(Policy(statements=(bracket,)))] == []
