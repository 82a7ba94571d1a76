"""Calls on tables and streams need the action of their own name, and have no leading keys."""

import base64
import json
from typing import Any

import pytest

from keyfence_iam.authorization import ArnScope, UnsupportedRequest, authorizations_for
from keyfence_iam.evaluator.request import AuthorizationRequest
from tests.iam.authorization.sample_table import SCOPE, STREAM_ARN, TABLE_ARN, authorizations


@pytest.mark.parametrize(
    "operation", ["DescribeTable", "CreateTable", "UpdateTable", "DeleteTable", "UpdateTimeToLive"]
)
def test_a_call_about_a_table_is_authorized_for_the_table_without_condition_keys(operation: str) -> None:
    assert authorizations(operation, TableName="keyfence") == (
        AuthorizationRequest(f"dynamodb:{operation}", TABLE_ARN),
    )


@pytest.mark.parametrize("operation", ["DescribeTimeToLive", "DescribeContinuousBackups", "UpdateContinuousBackups"])
def test_a_table_operation_needs_no_schema(operation: str) -> None:
    (request,) = authorizations_for(operation, {"TableName": "new"}, SCOPE, {})
    assert request.resource.endswith(":table/new")


@pytest.mark.parametrize("operation", ["TagResource", "UntagResource", "ListTagsOfResource", "PutResourcePolicy"])
def test_a_call_about_a_resource_is_authorized_for_its_arn(operation: str) -> None:
    for arn in (TABLE_ARN, f"{TABLE_ARN}/index/GSI1", STREAM_ARN):
        assert authorizations(operation, ResourceArn=arn) == (AuthorizationRequest(f"dynamodb:{operation}", arn),)
    for arn in ("keyfence", "*", f"{TABLE_ARN}*", "arn:aws:s3:::bucket"):
        with pytest.raises(UnsupportedRequest):
            authorizations(operation, ResourceArn=arn)


def test_a_table_with_tags_or_a_policy_needs_further_actions() -> None:
    requests = authorizations("CreateTable", TableName="keyfence", Tags=[], ResourcePolicy="{}")
    assert [request.action for request in requests] == [
        "dynamodb:CreateTable",
        "dynamodb:TagResource",
        "dynamodb:PutResourcePolicy",
    ]


@pytest.mark.parametrize("parameter", ["ReplicaUpdates", "GlobalTableWitnessUpdates", "GlobalTableSourceArn"])
def test_a_table_in_several_regions_is_unsupported(parameter: str) -> None:
    with pytest.raises(UnsupportedRequest, match="regions"):
        authorizations("UpdateTable", TableName="keyfence", **{parameter: []})


@pytest.mark.parametrize("operation", ["DescribeStream", "GetShardIterator"])
def test_a_call_about_a_stream_is_authorized_for_the_stream(operation: str) -> None:
    assert authorizations(operation, StreamArn=STREAM_ARN) == (
        AuthorizationRequest(f"dynamodb:{operation}", STREAM_ARN),
    )
    with pytest.raises(UnsupportedRequest):
        authorizations(operation, StreamArn=TABLE_ARN)


def test_a_shard_iterator_is_authorized_for_the_stream_that_it_names() -> None:
    assert authorizations("GetRecords", ShardIterator=f"{STREAM_ARN}|1|AAAA") == (
        AuthorizationRequest("dynamodb:GetRecords", STREAM_ARN),
    )


def encoded_iterator(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def test_a_shard_iterator_that_names_only_its_table_is_authorized_for_all_its_streams() -> None:
    position = {"table_name": "keyfence", "shard_id": "shardId-00000001-keyfence", "position": 0}
    (records,) = authorizations("GetRecords", ShardIterator=encoded_iterator(json.dumps(position)))
    assert records == AuthorizationRequest("dynamodb:GetRecords", f"{TABLE_ARN}/stream/*")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "AAAA",
        f"{TABLE_ARN}|1|AAAA",
        STREAM_ARN,
        encoded_iterator("7"),
        encoded_iterator("{"),
        encoded_iterator("[" * 100_000),
        encoded_iterator('{"table_name": "keyfence", "position": 0}'),
        encoded_iterator('{"table_name": "keyfence", "shard_id": "shardId-1-other", "position": 0}'),
        encoded_iterator('{"table_name": "key*", "shard_id": "shardId-1-key*", "position": 0}'),
        encoded_iterator('{"table_name": "other", "table_name": "keyfence", "shard_id": "s-keyfence", "position": 0}'),
        encoded_iterator('{"table_name": "keyfence", "shard_id": "s-keyfence", "position": 0, "more": 1}'),
        "\u00e9",
    ],
    ids=range(13),
)
def test_an_iterator_of_an_unknown_stream_is_unsupported(text: str) -> None:
    with pytest.raises(UnsupportedRequest):
        authorizations("GetRecords", ShardIterator=text)


def test_a_region_that_an_engine_writes_into_its_arns_is_replaced_by_that_of_the_scope() -> None:
    engine_arn = STREAM_ARN.replace("us-east-1", "dynoxide")
    scope = ArnScope(account=SCOPE.account, region=SCOPE.region, region_aliases=frozenset({"dynoxide"}))
    assert authorizations_for("DescribeStream", {"StreamArn": engine_arn}, scope, {})[0].resource == STREAM_ARN
    assert authorizations_for("DescribeStream", {"StreamArn": engine_arn}, SCOPE, {})[0].resource == engine_arn


@pytest.mark.parametrize("operation", ["SearchVectors", "StartBulkPutItems", "getitem", "", "DeleteEverything"])
def test_an_unknown_operation_is_unsupported(operation: str) -> None:
    with pytest.raises(UnsupportedRequest, match="unknown operation"):
        authorizations(operation, TableName="keyfence")


@pytest.mark.parametrize("parameters", [None, [], "x", {1: 2}])
def test_parameters_that_are_not_a_map_are_unsupported(parameters: Any) -> None:
    with pytest.raises(UnsupportedRequest):
        authorizations_for("DescribeTable", parameters, SCOPE, {})
