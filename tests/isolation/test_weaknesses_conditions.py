"""Weaknesses of conditions. Each is shown in a policy that has it, and is absent in Keyfence's policies."""

import pytest

from keyfence_iam.lint import lint
from keyfence_iam.policy import Policy, parse_policy
from keyfence_iam.roles import ROLES
from tests.isolation.sample_sessions import (
    DELETE_TABLE,
    DESCRIBE,
    LEADING_KEYS,
    OWN_PARTITIONS,
    PARTIQL_SCAN,
    SCAN,
    Call,
    allowing,
    batch_get,
    fenced,
    get,
)
from tests.isolation.session_evaluator import DEPLOYMENT, allows, our_roles_that_allow

A1, A10 = "TENANT#a1#USER#1", "TENANT#a10#USER#1"
ACTIONS_WITHOUT_KEYS = ["dynamodb:Scan", "dynamodb:DescribeTable", "dynamodb:DeleteTable", "dynamodb:PartiQLSelect"]
TENANT_CONDITION = {"ForAllValues:StringLike": {LEADING_KEYS: OWN_PARTITIONS}}
NULL_GUARD = {"Null": {LEADING_KEYS: "false"}}


def findings(policy: Policy) -> set[tuple[str, str]]:
    """Returns the codes and names of the linter's findings."""
    return {(finding.code, finding.name) for finding in lint(policy)}


@pytest.mark.parametrize("call", [SCAN, DESCRIBE, DELETE_TABLE, PARTIQL_SCAN], ids=lambda call: str(call[0]))
def test_H1_a_call_without_leading_keys_passes_a_condition_without_null_guard_but_not_ours(call: Call) -> None:
    assert allows(allowing(ACTIONS_WITHOUT_KEYS, TENANT_CONDITION), call)
    assert not allows(allowing(ACTIONS_WITHOUT_KEYS, {**TENANT_CONDITION, **NULL_GUARD}), call)
    assert our_roles_that_allow(call) == []
    assert ("H1", "missing-null-guard") in findings(allowing(ACTIONS_WITHOUT_KEYS, TENANT_CONDITION))


@pytest.mark.parametrize("misspelled", ["dynamodb: LeadingKeys", "dynamodb:LeadingKey", "dynamo:LeadingKeys"])
def test_H2_a_misspelled_condition_key_limits_nothing_and_ours_is_correct(misspelled: str) -> None:
    weak_policy = fenced(condition_key=misspelled)
    assert allows(weak_policy, get(A10))
    assert not allows(fenced(), get(A10))
    assert our_roles_that_allow(get(A10)) == []
    assert "H2" in {code for code, _ in findings(weak_policy)}


def test_H6_for_any_value_allows_a_batch_with_one_own_key_and_ours_does_not() -> None:
    weak_policy = fenced(operator="ForAnyValue:StringLike")
    assert allows(weak_policy, batch_get(A1, A10))
    assert not allows(weak_policy, batch_get(A10))
    assert our_roles_that_allow(batch_get(A1, A10)) == []
    assert our_roles_that_allow(batch_get(A1)) == ["tenant-read", "tenant-write"]
    assert ("H6", "for-any-value") in findings(weak_policy)


def test_H6_for_all_values_in_a_deny_does_not_deny_a_mixed_batch() -> None:
    everything = {"Effect": "Allow", "Action": "dynamodb:BatchGetItem", "Resource": DEPLOYMENT.table_arn}
    deny = {**everything, "Effect": "Deny", "Condition": {"ForAllValues:StringLike": {LEADING_KEYS: "TENANT#a10#*"}}}
    weak_policy = parse_policy({"Version": "2012-10-17", "Statement": [everything, deny]})
    assert not allows(weak_policy, batch_get(A10))
    assert allows(weak_policy, batch_get(A1, A10))
    assert ("H6", "for-all-values-in-deny") in findings(weak_policy)


def test_H7_an_operator_without_for_all_values_neither_allows_nor_denies_and_ours_works() -> None:
    plain = fenced("TENANT#a1#*", operator="StringLike")
    deny = {
        "Effect": "Deny",
        "Action": "*",
        "Resource": "*",
        "Condition": {"StringLike": {LEADING_KEYS: "TENANT#a10#*"}},
    }
    weak_deny = parse_policy({"Version": "2012-10-17", "Statement": [*allowing().as_json()["Statement"], deny]})
    assert not allows(plain, get(A1))
    assert allows(weak_deny, get(A10))
    assert our_roles_that_allow(get(A1)) == ["tenant-read", "tenant-write"]
    assert ("H7", "set-operator-missing") in findings(plain) & findings(weak_deny)


def test_H8_without_the_tag_a_negated_condition_allows_everything_and_ours_nothing() -> None:
    weak_policy = fenced("TENANT#${aws:PrincipalTag/tenant}#SECRET#*", operator="ForAllValues:StringNotLike")
    assert allows(weak_policy, get(A10), tenant=None)
    assert allows(weak_policy, get("TENANT#a1#SECRET#1"), tenant=None)
    assert our_roles_that_allow(get(A1), tenant=None) == our_roles_that_allow(get(A10), tenant=None) == []
    assert our_roles_that_allow(get("TENANT##USER#1"), tenant=None) == []
    assert ("H8", "negated-operator-in-allow") in findings(weak_policy)


def test_H8_a_default_value_for_the_missing_tag_is_a_real_tenant() -> None:
    weak_policy = fenced("TENANT#${aws:PrincipalTag/tenant, 'a10'}#*")
    assert allows(weak_policy, get(A10), tenant=None)
    assert our_roles_that_allow(get(A10), tenant=None) == []
    assert ("H8", "variable-with-default") in findings(weak_policy)


@pytest.mark.parametrize("role", ROLES)
def test_H24_in_the_old_policy_version_the_variable_is_plain_text_and_ours_is_the_new_version(role: str) -> None:
    old = fenced(version="2008-10-17")
    literal = get("TENANT#${aws:PrincipalTag/tenant}#USER#1")
    assert not allows(old, get(A1))
    assert allows(old, literal, tenant="a10")
    assert ROLES[role].identity(DEPLOYMENT).version == ROLES[role].trust(DEPLOYMENT).version == "2012-10-17"
    assert our_roles_that_allow(literal) == []
    assert ("H24", "version-without-variables") in findings(old)
