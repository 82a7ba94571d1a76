"""Unknown condition keys and leading keys that other tenants could match are found."""

import json

import pytest

from keyfence_iam.lint import lint_text
from tests.iam.lint.sample_policies import (
    WEAK_POLICIES,
    finding_names,
    policy,
    policy_with_keys,
    statement,
)


def test_a_finding_suggests_the_most_similar_condition_key() -> None:
    for name in ("blank-in-condition-key", "unknown-condition-key"):
        problems = [one.problem for one in lint_text(json.dumps(WEAK_POLICIES[name][1])) if one.name == name]
        assert "did you mean dynamodb:LeadingKeys?" in problems[0]


@pytest.mark.parametrize(
    "key", ["LeadingKeys", "dynamo:LeadingKeys", "dynamodb:ResourceTag/tenant", "aws:PrincipalTag/"]
)
def test_a_key_that_no_request_has_is_unknown(key: str) -> None:
    document = policy(statement("Allow", "dynamodb:DescribeTable", {"StringEquals": {key: "x"}}))
    assert finding_names(document) == ["unknown-condition-key"]


@pytest.mark.parametrize(
    "value", ["TENANT#*", "TENANT#*#*", "TENANT#${*}#*", "TENANT#a?me#*", "TENANT#ACME#*", "TENANT##*"]
)
def test_a_literal_that_is_not_one_tenant_id_is_found(value: str) -> None:
    assert finding_names(policy_with_keys(value)) == ["invalid-tenant-id"]


@pytest.mark.parametrize("value", ["TENANT#acme*", "TENANT#acme?", "TENANT#${aws:PrincipalTag/tenant}-*"])
def test_a_missing_delimiter_is_found(value: str) -> None:
    assert finding_names(policy_with_keys(value)) == ["no-closing-delimiter"]


@pytest.mark.parametrize("value", ["*", "ORDERS", "CONTROL*", "t#*"])
def test_a_partition_that_is_the_same_for_every_tenant_is_found(value: str) -> None:
    assert finding_names(policy_with_keys(value)) == ["shared-partition"]


@pytest.mark.parametrize("value", ["*${aws:PrincipalTag/tenant}#*", "EMAIL#${aws:PrincipalTag/tenant}#x"])
def test_a_key_that_does_not_begin_with_the_tenant_is_found(value: str) -> None:
    assert "tenant-not-leading" in finding_names(policy_with_keys(value))


@pytest.mark.parametrize(
    "variable",
    ["aws:userid", "aws:username", "aws:SourceIdentity", "aws:PrincipalTag/team", "aws:RequestTag/tenant", "saml:sub"],
)
@pytest.mark.parametrize("start", ["", "TENANT#"])
def test_leading_keys_with_a_variable_other_than_the_tenant_are_found(variable: str, start: str) -> None:
    assert "fence-on-another-variable" in finding_names(policy_with_keys(f"{start}${{{variable}}}#*"))
