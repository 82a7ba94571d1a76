"""A trust policy that accepts a session without exactly one tenant tag is found."""

from typing import Any

import pytest

from tests.iam.lint.sample_policies import (
    finding_names,
    tenant_trust_policy,
    trust_policy,
)


def test_a_trust_policy_must_require_the_tag_of_roles_but_not_of_services() -> None:
    assert finding_names(trust_policy("sts:AssumeRole")) == ["tag-not-required"]
    assert finding_names(trust_policy("sts:AssumeRole", {"Service": "lambda.amazonaws.com"})) == []
    assert "tag-not-required" in finding_names(trust_policy(principal={"Service": "pods.eks.amazonaws.com"}))


@pytest.mark.parametrize(
    "condition",
    [
        {"Null": {"aws:RequestTag/tenant": "false", "sts:TransitiveTagKeys": "true"}, "StringLike": None},
        {"StringLike": {"aws:RequestTag/tenant": ["?*", ""]}},
        {"StringLike": {"aws:RequestTag/tenant": "**"}},
    ],
    ids=str,
)
def test_a_trust_policy_that_accepts_an_empty_tag_is_found(condition: dict[str, Any]) -> None:
    assert finding_names(tenant_trust_policy(**condition)) == ["empty-tag-accepted"]


@pytest.mark.parametrize(
    "condition",
    [
        {"ForAllValues:StringEquals": None, "ForAllValues:StringLike": {"aws:TagKeys": "*"}},
        {"ForAllValues:StringEquals": None, "ForAllValues:StringLike": {"aws:TagKeys": "tenant*"}},
        {"ForAllValues:StringEquals": {"aws:TagKeys": ["tenant", "team"]}},
        {"ForAllValues:StringEquals": {"aws:TagKeys": "team"}},
        {"ForAllValues:StringEquals": None, "ForAllValues:StringEqualsIgnoreCase": {"aws:TagKeys": "tenant"}},
        {"ForAllValues:StringEquals": None, "ForAllValues:StringNotEquals": {"aws:TagKeys": "tenant"}},
    ],
    ids=str,
)
def test_a_trust_policy_that_accepts_other_tags_is_found(condition: dict[str, Any]) -> None:
    assert "other-tags-accepted" in finding_names(tenant_trust_policy(**condition))


@pytest.mark.parametrize(
    "condition",
    [
        {"Null": {"aws:TagKeys": "false", "sts:TransitiveTagKeys": "false"}},
        {"Null": {"aws:TagKeys": "false", "sts:TransitiveTagKeys": ["true", "false"]}},
        {
            "Null": {"aws:TagKeys": "false"},
            "ForAllValues:StringEquals": {"aws:TagKeys": "tenant", "sts:TransitiveTagKeys": "tenant"},
        },
    ],
    ids=str,
)
def test_a_trust_policy_that_accepts_transitive_tags_is_found(condition: dict[str, Any]) -> None:
    assert "transitive-tags" in finding_names(tenant_trust_policy(**condition))
