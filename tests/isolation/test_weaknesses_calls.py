"""Weaknesses of calls that a condition on leading keys does not cover. Each is absent in Keyfence's policies."""

import tomllib

import pytest

from keyfence.errors import BadInput
from keyfence.store.cursor import CursorCodec, CursorPosition, CursorScope
from keyfence.store.dynamodb.error_codes import DynamoDbError
from keyfence_iam.authorization import UnsupportedRequest
from keyfence_iam.evaluator.decision import Allowed, Denied, access_denied_message
from keyfence_iam.evaluator.evaluation_logic import Policies, evaluate
from keyfence_iam.evaluator.request import AuthorizationRequest
from keyfence_iam.policy import Policy
from keyfence_iam.policy.actions import STREAM_READ_ACTIONS, TABLE_COPY_ACTIONS
from keyfence_iam.roles import ROLES
from tests.docs.pages import ROOT
from tests.isolation.sample_sessions import (
    LEADING_KEYS,
    OWN_PARTITIONS,
    SCAN,
    Call,
    allowing,
    authorization_requests,
    batch_get,
    condition_check,
    fenced,
    get,
    key,
    put,
    query,
    update,
)
from tests.isolation.session_evaluator import DEPLOYMENT, SessionEvaluator, allows, finding_names, our_roles_that_allow

A1, A10 = "TENANT#a1#USER#1", "TENANT#a10#USER#1"
STREAM = f"{DEPLOYMENT.table_arn}/stream/2026-11-05T12:00:00.000"
TENANT_ROLES = ("tenant-read", "tenant-write")
TENANT_CONDITION = {
    "ForAllValues:StringLike": {LEADING_KEYS: OWN_PARTITIONS},
    "Null": {LEADING_KEYS: "false", "dynamodb:Attributes": "false"},
}
ATTRIBUTE_LIST = {"ForAllValues:StringEquals": {"dynamodb:Attributes": ["PK", "SK", "nickname"]}}


def allowed(policy: Policy, action: str, resource: str, **context: str) -> bool:
    request = AuthorizationRequest(action, resource, {"aws:PrincipalTag/tenant": "a1", **context})
    return isinstance(evaluate(Policies((policy,)), request), Allowed)


def our_roles_allowing(action: str, resource: str) -> list[str]:
    return [role for role, definition in ROLES.items() if allowed(definition.identity(DEPLOYMENT), action, resource)]


@pytest.mark.parametrize("call", [condition_check(A10), batch_get(A10)], ids=["ConditionCheck", "BatchGetItem"])
def test_H14_an_action_in_a_second_statement_without_the_condition_reaches_neighbours_and_ours_all_have_it(
    call: Call,
) -> None:
    weak_policy = allowing(["dynamodb:ConditionCheckItem", "dynamodb:BatchGetItem"])
    assert allows(weak_policy, call)
    assert our_roles_that_allow(call) == []
    assert "unfenced-data-call" in finding_names(weak_policy)


def test_H15_an_attribute_list_does_not_limit_what_a_write_returns() -> None:
    weak_policy = allowing(["dynamodb:UpdateItem"], TENANT_CONDITION | ATTRIBUTE_LIST)
    update_that_returns_all = update(A1, ReturnValues="ALL_NEW")
    good = allowing(
        ["dynamodb:UpdateItem"],
        TENANT_CONDITION | ATTRIBUTE_LIST | {"StringEquals": {"dynamodb:ReturnValues": ["NONE", "UPDATED_NEW"]}},
    )
    assert allows(weak_policy, update_that_returns_all)
    assert not allows(good, update_that_returns_all)
    assert allows(good, update(A1))
    assert "return-values-open" in finding_names(weak_policy) - finding_names(good)


def test_H16_an_attribute_list_does_not_limit_a_read_without_a_projection() -> None:
    weak_policy = allowing(["dynamodb:GetItem"], TENANT_CONDITION | ATTRIBUTE_LIST)
    good = allowing(
        ["dynamodb:GetItem"],
        TENANT_CONDITION | ATTRIBUTE_LIST | {"StringEquals": {"dynamodb:Select": "SPECIFIC_ATTRIBUTES"}},
    )
    assert allows(weak_policy, get(A1))
    assert not allows(good, get(A1))
    assert allows(good, get(A1, ProjectionExpression="nickname"))
    assert "projection-not-required" in finding_names(weak_policy) - finding_names(good)


def test_H17_an_attribute_list_does_not_stop_a_put_from_removing_other_attributes() -> None:
    weak_policy = allowing(["dynamodb:PutItem"], TENANT_CONDITION | ATTRIBUTE_LIST)
    assert allows(weak_policy, put(A1, nickname="the only attribute that remains"))
    assert "whole-item-replaced" in finding_names(weak_policy)


@pytest.mark.parametrize("role", ROLES)
def test_H15_H16_H17_no_policy_of_ours_relies_on_attribute_lists(role: str) -> None:
    conditions = [
        condition for statement in ROLES[role].identity(DEPLOYMENT).statements for condition in statement.conditions
    ]
    assert not [condition for condition in conditions if condition.key.lower() == "dynamodb:attributes"]


def test_H18_iam_does_not_check_a_start_key_and_an_encrypted_cursor_is_valid_for_its_own_list_only() -> None:
    foreign = query(A1, ExclusiveStartKey=key(A10))
    assert our_roles_that_allow(foreign) == [*TENANT_ROLES], "no condition key covers a start key"
    codec = CursorCodec([b"k" * 32])
    neighbours = codec.encode(CursorPosition("PROFILE"), CursorScope("TENANT#a10#", "users", "USER#1"))
    with pytest.raises(BadInput):
        codec.decode(neighbours, CursorScope("TENANT#a1#", "users", "USER#1"))
    assert codec.decode(neighbours, CursorScope("TENANT#a10#", "users", "USER#1")) == CursorPosition("PROFILE")


@pytest.mark.parametrize("action", [*STREAM_READ_ACTIONS, *TABLE_COPY_ACTIONS])
def test_H19_table_wide_actions_pass_a_condition_without_null_guard_and_no_tenant_has_them(action: str) -> None:
    weak_policy = fenced(
        actions=[*STREAM_READ_ACTIONS, *TABLE_COPY_ACTIONS],
        resource=[DEPLOYMENT.table_arn, f"{DEPLOYMENT.table_arn}/stream/*"],
    )
    resource = STREAM if action in STREAM_READ_ACTIONS else DEPLOYMENT.table_arn
    assert allowed(weak_policy, action, resource)
    assert our_roles_allowing(action, resource) == (["stream-worker"] if action in STREAM_READ_ACTIONS else [])
    assert "table-wide-call" in finding_names(weak_policy)


def test_H20_a_denial_names_role_and_table_and_clients_of_the_api_see_neither() -> None:
    (request,) = authorization_requests(get(A10))
    text = access_denied_message(
        Denied("identity"), request, "arn:aws:sts::000000000000:assumed-role/keyfence-tenant-read/acme"
    )
    assert "keyfence-tenant-read" in text
    assert DEPLOYMENT.table_arn in text
    error = DynamoDbError("AccessDeniedException", text).as_keyfence_error()
    assert (error.message, dict(error.extensions)) == ("this tenant's credentials do not allow this", {})


def test_H21_a_denial_does_not_reveal_whether_an_item_exists_and_no_tenant_writes_shared_items() -> None:
    texts = {
        access_denied_message(Denied("identity"), request, "session")
        for partition in ("TENANT#a10#USER#1", "TENANT#a10#USER#nobody")
        for request in authorization_requests(get(partition))
    }
    assert len(texts) == 1
    assert our_roles_that_allow(put("UNIQUE#EMAIL#a@b.example")) == our_roles_that_allow(put("CONTROL#SLUG#acme")) == []


def test_H29_a_wildcard_after_the_table_includes_indexes_and_stream_and_ours_names_each() -> None:
    wide = f"{DEPLOYMENT.table_arn.removesuffix(DEPLOYMENT.table)}*"
    weak_policy = allowing(["dynamodb:Query", "dynamodb:GetRecords"], None, wide)
    assert allows(weak_policy, query(A10, "GSI1"))
    assert allowed(weak_policy, "dynamodb:GetRecords", STREAM)
    assert "table-wildcard" in finding_names(weak_policy)
    resources = [
        resource
        for role in TENANT_ROLES
        for statement in ROLES[role].identity(DEPLOYMENT).statements
        if statement.effect == "Allow"
        for resource in statement.resources
    ]
    assert resources
    assert not [resource for resource in resources if "*" in resource]


def test_H31_dax_would_call_with_its_own_role_and_nothing_of_ours_may_or_does_use_it() -> None:
    cache = "arn:aws:dax:us-east-1:000000000000:cache/c"
    weak_policy = allowing(["dax:GetItem"], None, cache)
    assert allowed(weak_policy, "dax:GetItem", cache)
    assert our_roles_allowing("dax:GetItem", cache) == []
    projects = [tomllib.loads((ROOT / top / "pyproject.toml").read_text())["project"] for top in ("service", "iam")]
    assert not [name for project in projects for name in project["dependencies"] if "dax" in name.lower()]
    assert "dax-granted" in finding_names(weak_policy)


def test_H32_vector_search_passes_a_condition_without_null_guard_and_ours_denies_it() -> None:
    weak_policy = fenced(actions="dynamodb:*")
    assert allowed(weak_policy, "dynamodb:SearchVectors", DEPLOYMENT.table_arn)
    assert our_roles_allowing("dynamodb:SearchVectors", DEPLOYMENT.table_arn) == []
    assert "vector-search-granted" in finding_names(weak_policy)
    for unknown in ("SearchVectors", "StartBulkPutItems", "WhatComesNextYear"):
        with pytest.raises(UnsupportedRequest):
            list(authorization_requests((unknown, {"TableName": DEPLOYMENT.table})))


def test_H1_only_the_migrator_may_scan_and_it_may_not_read_items_by_key() -> None:
    assert [role for role in ROLES if SessionEvaluator.of(role, "a1").allows(*SCAN)] == ["migrator"]
    assert not SessionEvaluator.of("migrator", "a1").allows(*get(A1))
    assert SessionEvaluator.of("migrator", None).allows(*put("CONTROL#JOB#m1"))
    assert not SessionEvaluator.of("migrator", None).allows(*put("CONTROL#TENANT#a1"))
