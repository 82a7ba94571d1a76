"""Calls on tables and streams need the action of their own name, and have no leading keys."""

import base64
import json
from typing import Any

import pytest

from keyfence_iam.authorization import ArnScope, UnsupportedRequest, authorizations_for
from keyfence_iam.evaluator.request import AuthorizationRequest
from tests.iam.authorization.sample_table import PLACE, STREAM, TABLE, asked


@pytest.mark.parametrize(
    "operation", ["DescribeTable", "CreateTable", "UpdateTable", "DeleteTable", "UpdateTimeToLive"]
)
def test_a_call_about_a_table_is_authorized_for_it_without_any_context(operation: str) -> None:
    assert asked(operation, TableName="keyfence") == (AuthorizationRequest(f"dynamodb:{operation}", TABLE),)


@pytest.mark.parametrize("operation", ["DescribeTimeToLive", "DescribeContinuousBackups", "UpdateContinuousBackups"])
def test_a_table_operation_needs_no_schema(operation: str) -> None:
    (about,) = authorizations_for(operation, {"TableName": "new"}, PLACE, {})
    assert about.resource.endswith(":table/new")


@pytest.mark.parametrize("operation", ["TagResource", "UntagResource", "ListTagsOfResource", "PutResourcePolicy"])
def test_a_call_about_a_resource_is_authorized_for_that_arn(operation: str) -> None:
    for arn in (TABLE, f"{TABLE}/index/GSI1", STREAM):
        assert asked(operation, ResourceArn=arn) == (AuthorizationRequest(f"dynamodb:{operation}", arn),)
    for arn in ("keyfence", "*", f"{TABLE}*", "arn:aws:s3:::bucket"):
        with pytest.raises(UnsupportedRequest):
            asked(operation, ResourceArn=arn)


def test_a_table_with_tags_or_a_policy_needs_further_actions() -> None:
    found = asked("CreateTable", TableName="keyfence", Tags=[], ResourcePolicy="{}")
    assert [one.action for one in found] == [
        "dynamodb:CreateTable",
        "dynamodb:TagResource",
        "dynamodb:PutResourcePolicy",
    ]


@pytest.mark.parametrize("parameter", ["ReplicaUpdates", "GlobalTableWitnessUpdates", "GlobalTableSourceArn"])
def test_a_table_in_several_regions_is_unsupported(parameter: str) -> None:
    with pytest.raises(UnsupportedRequest, match="regions"):
        asked("UpdateTable", TableName="keyfence", **{parameter: []})


@pytest.mark.parametrize("operation", ["DescribeStream", "GetShardIterator"])
def test_a_call_about_a_stream_is_authorized_for_the_stream(operation: str) -> None:
    assert asked(operation, StreamArn=STREAM) == (AuthorizationRequest(f"dynamodb:{operation}", STREAM),)
    with pytest.raises(UnsupportedRequest):
        asked(operation, StreamArn=TABLE)


def test_a_shard_iterator_is_authorized_for_the_stream_that_it_names() -> None:
    assert asked("GetRecords", ShardIterator=f"{STREAM}|1|AAAA") == (
        AuthorizationRequest("dynamodb:GetRecords", STREAM),
    )


def iterator(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def test_a_shard_iterator_that_names_only_its_table_is_authorized_for_all_its_streams() -> None:
    position = {"table_name": "keyfence", "shard_id": "shardId-00000001-keyfence", "position": 0}
    (records,) = asked("GetRecords", ShardIterator=iterator(json.dumps(position)))
    assert records == AuthorizationRequest("dynamodb:GetRecords", f"{TABLE}/stream/*")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "AAAA",
        f"{TABLE}|1|AAAA",
        STREAM,
        iterator("7"),
        iterator("{"),
        iterator("[" * 100_000),
        iterator('{"table_name": "keyfence", "position": 0}'),
        iterator('{"table_name": "keyfence", "shard_id": "shardId-1-other", "position": 0}'),
        iterator('{"table_name": "key*", "shard_id": "shardId-1-key*", "position": 0}'),
        iterator('{"table_name": "other", "table_name": "keyfence", "shard_id": "s-keyfence", "position": 0}'),
        iterator('{"table_name": "keyfence", "shard_id": "s-keyfence", "position": 0, "more": 1}'),
        "\u00e9",
    ],
    ids=range(13),
)
def test_an_iterator_of_an_unknown_stream_is_unsupported(text: str) -> None:
    with pytest.raises(UnsupportedRequest):
        asked("GetRecords", ShardIterator=text)


def test_a_region_that_an_engine_writes_into_its_arns_is_replaced_by_that_of_the_scope() -> None:
    written = STREAM.replace("us-east-1", "dynoxide")
    place = ArnScope(account=PLACE.account, region=PLACE.region, other_regions=frozenset({"dynoxide"}))
    assert authorizations_for("DescribeStream", {"StreamArn": written}, place, {})[0].resource == STREAM
    assert authorizations_for("DescribeStream", {"StreamArn": written}, PLACE, {})[0].resource == written


@pytest.mark.parametrize("operation", ["SearchVectors", "StartBulkPutItems", "getitem", "", "DeleteEverything"])
def test_an_unknown_operation_is_unsupported(operation: str) -> None:
    with pytest.raises(UnsupportedRequest, match="unknown operation"):
        asked(operation, TableName="keyfence")


@pytest.mark.parametrize("parameters", [None, [], "x", {1: 2}])
def test_parameters_that_are_not_a_map_are_unsupported(parameters: Any) -> None:
    with pytest.raises(UnsupportedRequest):
        authorizations_for("DescribeTable", parameters, PLACE, {})
