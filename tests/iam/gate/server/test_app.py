"""The gate forwards exactly what it checked, and a denied call does not reach the engine."""

import asyncio
import gzip
import json
import zlib

import pytest

from keyfence_iam.gate.account.account import Account
from keyfence_iam.gate.gate import Gate
from keyfence_iam.roles import ROLES
from tests.iam.gate.server.raw_client import (
    DEPLOYMENT,
    GATE_KEY,
    GET_ITEM,
    TABLE,
    admin_caller,
    gate_with_engine,
    raw_request,
    role_caller,
    send_raw,
    tenant_caller,
)
from tests.iam.gate.server.scripted_engine import ScriptedEngine, response, start_engine

GET_ITEM_WITH_ODD_SPACES = b' {"TableName":"keyfence" ,\t"Key":{"SK":{"S":"\\u00e4"},"PK":{"S":"TENANT#acme#A"}}}\r\n'


def forwarded(engine: ScriptedEngine) -> list[tuple[bytes, bytes]]:
    """Returns the requests of callers that reached the engine: head and body."""
    return [(head, body) for head, body in engine.requests if b".DescribeTable" not in head]


def key_of(tenant: str) -> dict[str, dict[str, str]]:
    return {"PK": {"S": f"TENANT#{tenant}#A"}, "SK": {"S": "B"}}


async def test_an_allowed_call_reaches_the_engine_byte_for_byte() -> None:
    async with gate_with_engine() as (gate, engine):
        caller = tenant_caller(gate)
        request = caller.request(
            "DynamoDB_20120810.GetItem", GET_ITEM_WITH_ODD_SPACES, {"user_agent": "A  b/1", "accept_encoding": "gzip"}
        )
        assert (await send_raw(gate.url, request)).status == 200
    ((head, body),) = forwarded(engine)
    assert body == GET_ITEM_WITH_ODD_SPACES
    sent_lines = {line.lower() for line in request.partition(b"\r\n\r\n")[0].split(b"\r\n")[1:] if line[:5] != b"host:"}
    assert sent_lines <= {line.lower() for line in head.split(b"\r\n")}


async def test_the_engines_response_is_returned_byte_for_byte() -> None:
    headers = b"X-Amz-Crc32: 1\r\nServer: e\r\nDate: d\r\nA: 1\r\nA: 2\r\nContent-Length: 4"
    answer = b"HTTP/1.1 400 Bad\r\n%s\r\n\r\n\xff\x00{}" % headers
    async with gate_with_engine(other_response=answer) as (gate, _):
        reply = await tenant_caller(gate).call("GetItem", GET_ITEM)
    assert reply.status == 400
    assert reply.body == b"\xff\x00{}"
    assert reply.head.partition(b"\r\n")[2] == headers.lower() + b"\r\n\r\n"


async def test_a_chunked_body_is_checked_and_forwarded_as_a_whole() -> None:
    async with gate_with_engine() as (gate, engine):
        caller = tenant_caller(gate)
        headers = caller.signed_headers(
            {"content-type": "application/x-amz-json-1.0", "x-amz-target": "DynamoDB_20120810.GetItem"},
            GET_ITEM_WITH_ODD_SPACES,
        )
        chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in GET_ITEM_WITH_ODD_SPACES) + b"0\r\n\r\n"
        reply = await send_raw(gate.url, raw_request("/", [*headers, ("transfer-encoding", "chunked")], chunks))
    assert reply.status == 200
    ((head, body),) = forwarded(engine)
    assert body == GET_ITEM_WITH_ODD_SPACES
    assert b"content-length: %d\r\n" % len(GET_ITEM_WITH_ODD_SPACES) in head
    assert b"chunked" not in head


async def test_expect_100_continue_is_answered() -> None:
    async with gate_with_engine() as (gate, engine):
        reply = await tenant_caller(gate).call("GetItem", GET_ITEM, expect="100-continue")
    assert reply.status == 200
    assert b"expect" not in forwarded(engine)[0][0]


async def test_unknown_headers_are_not_forwarded() -> None:
    async with gate_with_engine() as (gate, engine):
        caller = tenant_caller(gate)
        request = caller.request("DynamoDB_20120810.GetItem", GET_ITEM)
        extra_headers = (
            b"X_Amz_Target: DynamoDB_20120810.Scan\r\nX-Forwarded-Host: s3.amazonaws.com\r\nConnection: close, x\r\n"
        )
        head, _, body = request.partition(b"\r\n")
        assert (await send_raw(gate.url, b"%s\r\n%s%s" % (head, extra_headers, body))).status == 200
    forwarded_head = forwarded(engine)[0][0].lower()
    assert b"scan" not in forwarded_head
    assert b"forwarded" not in forwarded_head
    assert b"connection" not in forwarded_head


async def test_a_denial_has_the_message_and_headers_of_aws() -> None:
    async with gate_with_engine() as (gate, engine):
        foreign = GET_ITEM.replace(b"acme", b"acmecorp")
        reply = await tenant_caller(gate).call("GetItem", foreign)
    assert reply.status == 400
    assert reply.content == {
        "__type": "com.amazon.coral.service#AccessDeniedException",
        "Message": "User: arn:aws:sts::000000000000:assumed-role/keyfence-tenant-write/acme is not authorized "
        "to perform: dynamodb:GetItem on resource: arn:aws:dynamodb:us-east-1:000000000000:table/keyfence "
        "because no identity-based policy allows the dynamodb:GetItem action",
    }
    assert b"content-type: application/x-amz-json-1.0" in reply.head
    assert b"x-amzn-requestid: " in reply.head
    assert b"x-amz-crc32: %d\r\n" % zlib.crc32(reply.body) in reply.head
    assert forwarded(engine) == []


@pytest.mark.parametrize("order", [1, -1])
async def test_a_foreign_item_at_any_position_denies_the_whole_transaction(order: int) -> None:
    gets = [{"Get": {"TableName": "keyfence", "Key": key}} for key in (key_of("acme"), key_of("acmecorp"))][::order]
    async with gate_with_engine() as (gate, engine):
        reply = await tenant_caller(gate).call("TransactGetItems", json.dumps({"TransactItems": gets}).encode())
    assert reply.error == "AccessDeniedException"
    assert forwarded(engine) == []


async def test_a_body_that_was_changed_after_it_was_signed_is_not_forwarded() -> None:
    async with gate_with_engine() as (gate, engine):
        request = tenant_caller(gate).request("DynamoDB_20120810.GetItem", GET_ITEM)
        reply = await send_raw(gate.url, request.replace(b'"B"', b'"C"'))
    assert reply.error == "InvalidSignatureException"
    assert engine.requests == []


@pytest.mark.parametrize(
    "body",
    [
        GET_ITEM.replace(b'"Key"', b'"TableName": "keyfence", "Key"'),
        GET_ITEM.replace(b'"S": "TENANT', b'"S": "TENANT#globex#A", "S": "TENANT'),
        b"[]",
        b"",
        b"{",
    ],
    ids=["repeated TableName", "repeated S", "a list", "empty", "half an object"],
)
async def test_an_ambiguous_or_invalid_body_is_rejected(body: bytes) -> None:
    async with gate_with_engine() as (gate, engine):
        reply = await tenant_caller(gate).call("GetItem", body)
    assert (reply.status, reply.error) == (400, "SerializationException")
    assert engine.requests == []


@pytest.mark.parametrize(
    ("target", "headers"),
    [
        ("DynamoDB_20111205.GetItem", {}),
        ("GetItem", {}),
        ("DynamoDB_20120810.", {}),
        ("DynamoDBStreams_20120810.GetItem", {}),
        ("DynamoDB_20120810.GetRecords", {}),
        ("DynamoDB_20120810.GetItem", {"content_type": "application/x-www-form-urlencoded"}),
        ("DynamoDB_20120810.GetItem", {"content_type": "application/x-amz-json-1.0; charset=utf-16"}),
        ("DynamoDB_20120810.GetItem", {"content_encoding": "gzip"}),
    ],
    ids=str,
)
async def test_an_unknown_or_ambiguous_operation_is_rejected(target: str, headers: dict[str, str]) -> None:
    async with gate_with_engine() as (gate, engine):
        caller = tenant_caller(gate)
        body = gzip.compress(GET_ITEM) if "content_encoding" in headers else GET_ITEM
        reply = await send_raw(gate.url, caller.request(target, body, headers))
    assert reply.error == "UnknownOperationException"
    assert engine.requests == []


@pytest.mark.parametrize("path", ["/x", "//", "/?Action=GetItem", "/moto-api/reset"])
async def test_other_paths_are_rejected(path: str) -> None:
    async with gate_with_engine() as (gate, engine):
        reply = await send_raw(gate.url, tenant_caller(gate).request("DynamoDB_20120810.GetItem", GET_ITEM, path=path))
    assert (reply.status, reply.error) == (404, "UnknownOperationException")
    assert engine.requests == []


async def test_two_content_lengths_are_rejected() -> None:
    async with gate_with_engine() as (gate, engine):
        request = tenant_caller(gate).request("DynamoDB_20120810.GetItem", GET_ITEM)
        for second in (b"transfer-encoding: chunked", b"content-length: 3"):
            head, _, rest = request.partition(b"\r\n")
            assert (await send_raw(gate.url, b"%s\r\n%s\r\n%s" % (head, second, rest))).status == 400
    assert engine.requests == []


async def test_a_body_of_more_than_16_megabytes_is_rejected() -> None:
    async with gate_with_engine() as (gate, engine):
        reply = await tenant_caller(gate).call("PutItem", b" " * (16 * 1024 * 1024 + 1))
    assert reply.status == 413
    assert b"connection: close" in reply.head
    assert engine.requests == []


async def test_an_incomplete_body_is_not_forwarded() -> None:
    async with gate_with_engine() as (gate, engine):
        caller = tenant_caller(gate)
        request = caller.request("DynamoDB_20120810.GetItem", GET_ITEM)
        host, _, port = gate.url.removeprefix("http://").partition(":")
        _, writer = await asyncio.open_connection(host, int(port))
        writer.write(request[:-5])
        await writer.drain()
        writer.close()
        assert (await caller.call("GetItem", GET_ITEM)).status == 200
    assert len(forwarded(engine)) == 1


async def test_the_health_check_needs_no_signature() -> None:
    async with gate_with_engine() as (gate, _):
        reply = await send_raw(gate.url, b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
    assert (reply.status, reply.body) == (200, b"healthy\n")


async def test_an_unsupported_operation_is_denied_and_the_reason_is_logged() -> None:
    async with gate_with_engine() as (gate, engine):
        reply = await role_caller(gate, "migrator").call("SearchVectors", GET_ITEM)
        (denial,) = gate.denials
    assert reply.error == "AccessDeniedException"
    assert reply.content["Message"].endswith(
        "because no identity-based policy allows the dynamodb:SearchVectors action"
    )
    assert denial.reason == "unknown operation 'SearchVectors'"
    assert denial.operation == "SearchVectors"
    assert engine.requests == []


async def test_a_denial_is_passed_to_the_callback_with_the_deciding_statement() -> None:
    decisions: list[str] = []
    async with gate_with_engine(on_denied=lambda denial: decisions.append(str(denial.decision))) as (gate, _):
        await tenant_caller(gate).call("Scan", b'{"TableName": "keyfence"}')
    assert len(decisions) == 1
    assert "DenyScan" in decisions[0]


async def test_a_callback_that_fails_does_not_change_the_response(caplog: pytest.LogCaptureFixture) -> None:
    def fail(_: object) -> None:
        raise BrokenPipeError

    async with gate_with_engine(on_denied=fail) as (gate, _):
        reply = await tenant_caller(gate).call("Scan", b'{"TableName": "keyfence"}')
        assert len(gate.denials) == 1
    assert reply.error == "AccessDeniedException"
    assert [record.message for record in caplog.records if record.exc_info] == [
        "the callback on_denied failed; the call stays denied"
    ]


async def test_only_a_caller_with_access_learns_that_a_table_is_missing() -> None:
    async with gate_with_engine(None) as (gate, engine):
        denied_reply = await tenant_caller(gate).call("GetItem", GET_ITEM)
        (denial,) = gate.denials
        admin_reply = await admin_caller(gate).call("GetItem", GET_ITEM)
    assert denied_reply.error == "AccessDeniedException"
    assert denial.reason == "unknown table: keyfence"
    assert admin_reply.content == {
        "__type": "com.amazonaws.dynamodb.v20120810#ResourceNotFoundException",
        "message": "Requested resource not found",
    }
    assert forwarded(engine) == []


async def test_an_engine_that_closes_the_connection_gives_status_500_and_is_called_once() -> None:
    async with gate_with_engine(other_response=None) as (gate, engine):
        reply = await tenant_caller(gate).call("GetItem", GET_ITEM)
    assert (reply.status, reply.error) == (500, "InternalServerError")
    assert len(forwarded(engine)) == 1


@pytest.mark.parametrize(
    "description",
    [{"KeySchema": "odd"}, {}, {**TABLE, "AttributeDefinitions": [{"AttributeName": "PK", "AttributeType": "N"}]}],
    ids=["invalid schema", "no schema", "a number"],
)
async def test_a_call_to_a_table_without_a_string_partition_key_is_denied(description: dict[str, object]) -> None:
    async with gate_with_engine(description) as (gate, engine):
        reply = await tenant_caller(gate).call("GetItem", GET_ITEM)
    assert reply.error == "AccessDeniedException"
    assert forwarded(engine) == []


async def test_an_engine_that_fails_to_describe_its_tables_gives_status_500() -> None:
    async with start_engine(lambda *_: response(503, b"[")) as (engine, url):
        with Gate.start(engine_url=url, account=Account.from_definitions(ROLES, DEPLOYMENT), key=GATE_KEY) as gate:
            reply = await tenant_caller(gate).call("GetItem", GET_ITEM)
    assert (reply.status, reply.error) == (500, "InternalServerError")
    assert forwarded(engine) == []
