"""An ARN of a table works as its name does. A table of another account, region or partition is denied."""

import json
import zlib
from collections.abc import Callable
from typing import Any

import pytest

from keyfence_iam.authorization import SUPPORTED_OPERATIONS
from tests.iam.gate.server.raw_client import (
    DEPLOYMENT,
    Caller,
    Reply,
    admin_caller,
    gate_with_engine,
    send_raw,
    tenant_caller,
)
from tests.iam.gate.server.scripted_engine import ScriptedEngine, response

NAME = "keyfence"
OWN_ARN = DEPLOYMENT.table_arn
ENGINE_ARN = OWN_ARN.replace("us-east-1", "dynoxide")
FOREIGN_ARNS = {
    "another account": OWN_ARN.replace("000000000000", "999999999999"),
    "another region": OWN_ARN.replace("us-east-1", "eu-west-1"),
    "another partition": OWN_ARN.replace("arn:aws:", "arn:aws-cn:"),
}
KEY = {"PK": {"S": "TENANT#acme#A"}, "SK": {"S": "B"}}
SELECT = "SELECT * FROM \"{}\" WHERE PK = 'TENANT#acme#A'"
STREAM = "{}/stream/2026-01-01T00:00:00.000"

Parameters = Callable[[str], dict[str, Any]]
ITEM_CALLS: dict[str, Parameters] = {
    "GetItem": lambda table: {"TableName": table, "Key": KEY},
    "Query": lambda table: {
        "TableName": table,
        "KeyConditionExpression": "PK = :p",
        "ExpressionAttributeValues": {":p": KEY["PK"]},
    },
    "Scan": lambda table: {"TableName": table},
    "PutItem": lambda table: {"TableName": table, "Item": KEY},
    "UpdateItem": lambda table: {"TableName": table, "Key": KEY, "UpdateExpression": "REMOVE a"},
    "DeleteItem": lambda table: {"TableName": table, "Key": KEY},
    "BatchGetItem": lambda table: {"RequestItems": {table: {"Keys": [KEY]}}},
    "BatchWriteItem": lambda table: {"RequestItems": {table: [{"PutRequest": {"Item": KEY}}]}},
    "TransactGetItems": lambda table: {"TransactItems": [{"Get": {"TableName": table, "Key": KEY}}]},
    "TransactWriteItems": lambda table: {
        "TransactItems": [
            {"Put": {"TableName": table, "Item": KEY}},
            {"Update": {"TableName": table, "Key": {**KEY, "SK": {"S": "C"}}, "UpdateExpression": "REMOVE a"}},
            {"Delete": {"TableName": table, "Key": {**KEY, "SK": {"S": "D"}}}},
            {
                "ConditionCheck": {
                    "TableName": table,
                    "Key": {**KEY, "SK": {"S": "E"}},
                    "ConditionExpression": "attribute_exists(PK)",
                }
            },
        ]
    },
    "ExecuteStatement": lambda table: {"Statement": SELECT.format(table)},
    "BatchExecuteStatement": lambda table: {"Statements": [{"Statement": SELECT.format(table)}]},
    "ExecuteTransaction": lambda table: {
        "TransactStatements": [
            {"Statement": f"INSERT INTO \"{table}\" VALUE {{'PK': 'TENANT#acme#A', 'SK': 'F'}}"},
            {"Statement": f"UPDATE \"{table}\" SET a = 1 WHERE PK = 'TENANT#acme#A' AND SK = 'G'"},
            {"Statement": f"DELETE FROM \"{table}\" WHERE PK = 'TENANT#acme#A' AND SK = 'H'"},
        ]
    },
}
TABLE_CALLS: dict[str, Parameters] = {
    operation: lambda table: {"TableName": table}
    for operation in (
        "CreateTable",
        "DescribeTable",
        "UpdateTable",
        "DeleteTable",
        "DescribeTimeToLive",
        "UpdateTimeToLive",
        "DescribeContinuousBackups",
        "UpdateContinuousBackups",
        "DescribeContributorInsights",
        "UpdateContributorInsights",
        "DescribeKinesisStreamingDestination",
    )
}
ARN_CALLS: dict[str, Parameters] = {
    **{
        operation: lambda table: {"ResourceArn": table}
        for operation in (
            "TagResource",
            "UntagResource",
            "ListTagsOfResource",
            "GetResourcePolicy",
            "PutResourcePolicy",
            "DeleteResourcePolicy",
        )
    },
    "DescribeStream": lambda table: {"StreamArn": STREAM.format(table)},
    "GetShardIterator": lambda table: {"StreamArn": STREAM.format(table)},
    "GetRecords": lambda table: {"ShardIterator": f"{STREAM.format(table)}|1|x"},
}
STREAM_CALLS = {"DescribeStream", "GetShardIterator", "GetRecords", "ListStreams"}
ALL_CALLS = {**ITEM_CALLS, **TABLE_CALLS, **ARN_CALLS}


async def send(caller: Caller, operation: str, parameters: dict[str, Any], **headers: str) -> Reply:
    prefix = "DynamoDBStreams" if operation in STREAM_CALLS else "DynamoDB"
    request = caller.request(f"{prefix}_20120810.{operation}", json.dumps(parameters).encode(), headers)
    return await send_raw(caller.gate.url, request)


def forwarded_parameters(engine: ScriptedEngine, operation: str) -> list[Any]:
    """Returns the parameters of the calls of this operation that reached the engine."""
    return [json.loads(body) for head, body in engine.requests if f".{operation}\r".encode() in head]


def test_the_calls_above_cover_every_operation_that_names_a_table() -> None:
    assert {*ALL_CALLS} == SUPPORTED_OPERATIONS - {"ListTables", "ListStreams", "DescribeLimits", "DescribeEndpoints"}


@pytest.mark.parametrize("arn", FOREIGN_ARNS.values(), ids=FOREIGN_ARNS)
@pytest.mark.parametrize("operation", ALL_CALLS)
async def test_a_table_of_another_account_region_or_partition_is_denied(operation: str, arn: str) -> None:
    async with gate_with_engine() as (gate, engine):
        for caller, reason in (
            (tenant_caller(gate), "identity-based policy"),
            (admin_caller(gate), "because no resource-based policy allows the dynamodb:"),
        ):
            reply = await send(caller, operation, ALL_CALLS[operation](arn))
            assert (reply.status, reply.error) == (400, "AccessDeniedException")
            assert f"on resource: {arn}" in reply.content["Message"]
            assert reason in reply.content["Message"]
    assert engine.requests == []


@pytest.mark.parametrize("arn", FOREIGN_ARNS.values(), ids=FOREIGN_ARNS)
@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("operation", ["BatchGetItem", "TransactWriteItems", "BatchExecuteStatement"])
async def test_one_foreign_table_denies_the_whole_batch_or_transaction(operation: str, order: int, arn: str) -> None:
    (member, own_part), (_, foreign_part) = (next(iter(ITEM_CALLS[operation](table).items())) for table in (NAME, arn))
    parts = [own_part, foreign_part][::order]
    both = {**parts[0], **parts[1]} if isinstance(own_part, dict) else [*parts[0], *parts[1]]
    async with gate_with_engine() as (gate, engine):
        reply = await send(admin_caller(gate), operation, {member: both})
    assert (reply.status, reply.error) == (400, "AccessDeniedException")
    assert forwarded_parameters(engine, operation) == []


@pytest.mark.parametrize("arn", [OWN_ARN, ENGINE_ARN], ids=["region of the gate", "region of the engine"])
@pytest.mark.parametrize("operation", [*ITEM_CALLS, *TABLE_CALLS])
async def test_the_engine_gets_the_name_in_place_of_the_arn(operation: str, arn: str) -> None:
    async with gate_with_engine() as (gate, engine):
        reply = await send(admin_caller(gate), operation, {**ALL_CALLS[operation](arn)})
    assert reply.status == 200
    assert forwarded_parameters(engine, operation)[-1] == ALL_CALLS[operation](NAME)


@pytest.mark.parametrize("operation", [operation for operation in ITEM_CALLS if operation != "Scan"])
async def test_a_tenant_reaches_only_its_own_items_also_by_the_arn(operation: str) -> None:
    async with gate_with_engine() as (gate, engine):
        parameters = json.dumps(ITEM_CALLS[operation](OWN_ARN))
        is_partiql = "Statement" in operation or operation == "ExecuteTransaction"
        reply = await send(tenant_caller(gate), operation, json.loads(parameters))
        assert reply.error == ("AccessDeniedException" if is_partiql else ""), "tenants may not use PartiQL"
        reply = await send(tenant_caller(gate, "globex"), operation, json.loads(parameters))
        assert reply.error == "AccessDeniedException"
    assert len(forwarded_parameters(engine, operation)) == (0 if is_partiql else 1)


async def test_only_the_table_of_a_statement_is_replaced() -> None:
    quoted = f'"{OWN_ARN}"'
    statement = f"SELECT {quoted} FROM {quoted}.\"GSI1\" WHERE GSI1PK = '{quoted}' AND {quoted} = 'FROM {quoted}'"
    async with gate_with_engine() as (gate, engine):
        reply = await send(admin_caller(gate), "ExecuteStatement", {"Statement": statement})
    assert reply.status == 200
    (parameters,) = forwarded_parameters(engine, "ExecuteStatement")
    assert parameters["Statement"] == statement.replace(f"FROM {quoted}.", f'FROM "{NAME}".')


@pytest.mark.parametrize("operation", ["BatchGetItem", "BatchWriteItem"])
async def test_a_batch_that_names_a_table_twice_is_rejected(operation: str) -> None:
    items = {**ITEM_CALLS[operation](NAME)["RequestItems"], **ITEM_CALLS[operation](OWN_ARN)["RequestItems"]}
    async with gate_with_engine() as (gate, engine):
        reply = await send(admin_caller(gate), operation, {"RequestItems": items})
    assert (reply.status, reply.error) == (400, "ValidationException")
    assert forwarded_parameters(engine, operation) == []


CAPACITY = {"TableName": NAME, "CapacityUnits": 1.0}


@pytest.mark.parametrize(
    ("operation", "engines_answer", "answer"),
    [
        ("GetItem", {"ConsumedCapacity": CAPACITY}, {"ConsumedCapacity": {**CAPACITY, "TableName": OWN_ARN}}),
        (
            "BatchGetItem",
            {"Responses": {NAME: [KEY]}, "UnprocessedKeys": {NAME: {"Keys": [KEY]}}, "ConsumedCapacity": [CAPACITY]},
            {
                "Responses": {OWN_ARN: [KEY]},
                "UnprocessedKeys": {OWN_ARN: {"Keys": [KEY]}},
                "ConsumedCapacity": [{**CAPACITY, "TableName": OWN_ARN}],
            },
        ),
        (
            "BatchWriteItem",
            {"UnprocessedItems": {NAME: []}, "ItemCollectionMetrics": {NAME: []}},
            {"UnprocessedItems": {OWN_ARN: []}, "ItemCollectionMetrics": {OWN_ARN: []}},
        ),
        ("TransactGetItems", {"Responses": [{"Item": KEY}]}, {"Responses": [{"Item": KEY}]}),
        ("DescribeTable", {"Table": {"TableName": NAME}}, {"Table": {"TableName": NAME}}),
    ],
)
async def test_the_response_names_the_table_as_the_caller_did(
    operation: str, engines_answer: dict[str, Any], answer: dict[str, Any]
) -> None:
    engines_response = response(200, json.dumps(engines_answer).encode())
    if operation == "DescribeTable":
        engine_options: dict[str, Any] = {"description": engines_answer["Table"]}
    else:
        engine_options = {"other_response": engines_response}
    async with gate_with_engine(**engine_options) as (gate, engine):
        reply = await send(admin_caller(gate), operation, ALL_CALLS[operation](OWN_ARN), accept_encoding="gzip")
    assert reply.content == answer
    crc32 = [line for line in reply.head.split(b"\r\n") if line.startswith(b"x-amz-crc32")]
    assert crc32 in ([], [b"x-amz-crc32: %d" % zlib.crc32(reply.body)])
    assert b"gzip" not in engine.requests[-1][0], "the gate cannot read a compressed response"


async def test_a_transaction_that_names_a_table_in_both_ways_gets_the_name_in_its_response() -> None:
    gets = [
        *ITEM_CALLS["TransactGetItems"](NAME)["TransactItems"],
        *ITEM_CALLS["TransactGetItems"](OWN_ARN)["TransactItems"],
    ]
    answer = response(200, json.dumps({"ConsumedCapacity": [CAPACITY]}).encode())
    async with gate_with_engine(other_response=answer) as (gate, _):
        reply = await send(admin_caller(gate), "TransactGetItems", {"TransactItems": gets})
    assert reply.content == {"ConsumedCapacity": [CAPACITY]}
