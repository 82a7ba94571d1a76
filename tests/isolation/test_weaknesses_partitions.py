"""Weaknesses of partitions: neighbours, shared partitions and index keys. Each is absent in Keyfence."""

import json

import pytest

from keyfence.app.domain_loading import load_domains
from keyfence.domains.users.access_patterns import user_by_email
from keyfence.store.keys import TenantKey
from keyfence_iam.authorization import TableSchema, UnsupportedRequest, authorizations_for
from keyfence_iam.authorization.named_tables import ArnScope
from keyfence_iam.gate.dynamodb_api import index_key_outside_prefix
from keyfence_iam.gate.dynamodb_call import DynamoDBCall as GateCall
from keyfence_iam.gate.http.messages import HttpRequest
from keyfence_iam.gate.http.parameter_validation import TAG_VALUE
from keyfence_iam.policy import InvalidPolicy
from keyfence_iam.tenant import InvalidTenantId, parse_tenant_id, session_key_prefix, tenant_key_prefix
from tests.fakes.scripted_dynamodb import ScriptedDynamoDB, table
from tests.isolation.sample_sessions import OWN_PARTITIONS, TABLE, Call, allowing, fenced, get, put, query, session
from tests.isolation.session_evaluator import (
    DEPLOYMENT,
    KEYS,
    allows,
    finding_names,
    our_roles_that_allow,
)

A1, A10 = "TENANT#a1#USER#1", "TENANT#a10#USER#1"


def test_H3_iam_lets_a_tenant_write_a_neighbours_index_key_and_the_strict_gate_does_not() -> None:
    poisoned, honest = put(A1, GSI1PK=A10, GSI1SK="x"), put(A1, GSI1PK=A1, GSI1SK="x")
    assert our_roles_that_allow(poisoned) == ["tenant-write"], "IAM checks only the key of the table"
    assert index_key_outside_prefix(_gate_call(honest), session_key_prefix) is None
    assert "GSI1PK is outside" in (index_key_outside_prefix(_gate_call(poisoned), session_key_prefix) or "")


async def test_H3_an_item_that_a_neighbour_wrote_into_our_index_is_dropped_and_counted() -> None:
    foreign = {
        "PK": {"S": "TENANT#globex#USER#1"},
        "SK": {"S": "PROFILE"},
        "GSI1PK": {"S": "TENANT#acme#EMAIL#e@x.example"},
    }
    reported: list[object] = []
    store = table(ScriptedDynamoDB([{"Items": [foreign]}]), on_foreign_items=lambda _, items: reported.extend(items))
    assert await store.find_first(user_by_email, email="e@x.example") is None
    assert reported == [foreign]


def test_H4_a_prefix_without_delimiter_includes_longer_tenant_ids_and_ours_has_one() -> None:
    weak_policy = fenced("TENANT#${aws:PrincipalTag/tenant}*")
    assert allows(weak_policy, get(A10))
    assert allows(fenced(), get(A1))
    assert not allows(fenced(), get(A10))
    assert our_roles_that_allow(get(A10)) == []
    assert "no-closing-delimiter" in finding_names(weak_policy)


@pytest.mark.parametrize("hostile", ["a*", "a1?", "?*", "${*}", 'a1#*", "TENANT#*'])
def test_H5_characters_with_a_meaning_in_policies_are_in_no_tenant_id_and_no_tag(hostile: str) -> None:
    with pytest.raises(InvalidTenantId):
        parse_tenant_id(hostile)
    assert TAG_VALUE.violations(hostile, "tag"), "STS would not take it as a tag"


@pytest.mark.parametrize("hostile", ["a*", "a1?", "?*", 'a1#*", "TENANT#*'])
def test_H5_an_id_pasted_into_a_policy_can_include_neighbours_and_a_tag_cannot(hostile: str) -> None:
    weak_policy = fenced(json.loads(f'["TENANT#{hostile}#*"]'))
    assert allows(weak_policy, get(A10))
    assert our_roles_that_allow(get(A10), tenant=hostile) == []
    assert "invalid-tenant-id" in finding_names(weak_policy)


def test_H9_an_empty_tag_reaches_everything_without_the_delimiter_and_no_tenant_with_it() -> None:
    weak_policy = fenced("TENANT#${aws:PrincipalTag/tenant}*")
    assert allows(weak_policy, get(A1), tenant="")
    assert allows(weak_policy, get(A10), tenant="")
    assert our_roles_that_allow(get(A1), tenant="") == our_roles_that_allow(get(A10), tenant="") == []
    assert "empty-tag-opens-all" in finding_names(weak_policy)


def test_H12_leading_keys_do_not_cover_a_tenant_in_the_sort_key_and_ours_is_in_every_partition_key() -> None:
    weak_policy = fenced("ORDERS")
    shared = ("GetItem", {"TableName": TABLE, "Key": {"PK": {"S": "ORDERS"}, "SK": {"S": "TENANT#a10#ORDER#1"}}})
    assert allows(weak_policy, shared)
    assert our_roles_that_allow(shared) == []
    keys = [key for entity in load_domains().entities for key in entity.keys.values() if isinstance(key, TenantKey)]
    assert keys
    assert all(str(key).startswith(tenant_key_prefix("<tenant>")) for key in keys)


def test_H13_a_partition_that_tenants_share_shows_other_tenants_and_ours_share_none() -> None:
    all_indexes = [DEPLOYMENT.index_arn(index) for index in DEPLOYMENT.indexes]
    weak_policy = fenced([OWN_PARTITIONS, "STATUS#OPEN"], resource=all_indexes)
    assert allows(weak_policy, query("STATUS#OPEN", "GSI2"))
    assert our_roles_that_allow(query("STATUS#OPEN", "GSI2")) == []
    assert our_roles_that_allow(query("CONTROL#TENANTS#2026-11", "GSI2")) == []
    assert "shared-partition" in finding_names(weak_policy)


@pytest.mark.parametrize("index", DEPLOYMENT.indexes)
def test_H25_an_index_returns_all_projected_attributes_and_ours_only_of_own_partitions(index: str) -> None:
    weak_policy = allowing("dynamodb:Query", None, DEPLOYMENT.index_arn(index))
    assert allows(weak_policy, query(A10, index))
    assert our_roles_that_allow(query(A10, index)) == []
    assert our_roles_that_allow(query(A1, index)) == ["tenant-read", "tenant-write"]
    assert "unfenced-data-call" in finding_names(weak_policy)


@pytest.mark.parametrize("value", [{"N": "42"}, {"N": "42.0"}, {"B": "NDI="}], ids=str)
def test_H28_a_partition_key_value_that_is_not_a_string_is_rejected(value: dict[str, str]) -> None:
    parameters = {"TableName": TABLE, "Key": {"PK": value, "SK": {"S": "x"}}}
    with pytest.raises(UnsupportedRequest):
        authorizations_for("GetItem", parameters, ArnScope.of(DEPLOYMENT), {TABLE: KEYS})


@pytest.mark.parametrize("kind", ["N", "B"])
def test_H28_a_table_whose_partition_key_is_not_a_string_is_rejected(kind: str) -> None:
    definition = [{"AttributeName": "PK", "AttributeType": kind}]
    schema = [{"AttributeName": "PK", "KeyType": "HASH"}]
    with pytest.raises(UnsupportedRequest):
        TableSchema.from_description({"AttributeDefinitions": definition, "KeySchema": schema})


def test_H30_an_id_beyond_latin_1_fits_a_tag_but_no_policy_and_is_no_valid_tenant_id() -> None:
    assert TAG_VALUE.violations("\u0430cme", "tag") == []
    with pytest.raises(InvalidPolicy):
        fenced("TENANT#\u0430cme#*")
    with pytest.raises(InvalidTenantId):
        parse_tenant_id("\u0430cme")


def _gate_call(call: Call) -> GateCall:
    operation, parameters = call
    request = HttpRequest(method="POST", path=b"/", query=b"", headers=[], body=b"", source_ip="127.0.0.1")
    own = session(tags={"tenant": "a1"})
    return GateCall(request=request, operation=operation, session=own, parameters=parameters, schemas={TABLE: KEYS})
