"""The DynamoDB client distinguishes AWS's errors and shares nothing between callers."""

import asyncio
import socket
import threading
import zlib
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from keyfence.local import gate_access
from keyfence.store.dynamodb.client import ConnectionOptions, DynamoDbClient
from keyfence.store.dynamodb.error_codes import DynamoDbError
from keyfence_iam.credentials import Credentials
from keyfence_iam.tenant import TenantId
from tests.stack import ServiceStack

CREDENTIALS = Credentials("AKIASOMEBODY", "secret", "token-of-somebody")


class Script:
    """The next response of the server, and the headers of the requests that it received."""

    def __init__(self) -> None:
        self.status, self.body, self.headers = 200, b"{}", dict[str, str]()
        self.request_headers: list[dict[str, str]] = []


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
def url(script: Script) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            script.request_headers.append(dict(self.headers.items()))
            self.send_response(script.status)
            for name, value in {**script.headers, "content-length": str(len(script.body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(script.body)

        def log_message(self, *_: Any) -> None:
            """Logs nothing."""

    class Server(ThreadingHTTPServer):
        request_queue_size = 64

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def client(url: str) -> Iterator[DynamoDbClient]:
    client = DynamoDbClient(ConnectionOptions(region="eu-west-1", endpoint_url=url, read_timeout_seconds=5))
    yield client
    client.close()


async def test_each_call_is_signed_with_its_own_credentials(client: DynamoDbClient, script: Script) -> None:
    credentials = [Credentials(f"AKIA{number}", "s", f"token-{number}") for number in range(30)]
    await asyncio.gather(*(client.call("GetItem", {}, one) for one in credentials))
    headers_by_access_key = {
        headers["Authorization"].split("Credential=")[1].split("/")[0]: headers for headers in script.request_headers
    }
    assert {key: headers["X-Amz-Security-Token"] for key, headers in headers_by_access_key.items()} == {
        one.access_key: one.token for one in credentials
    }
    assert all("/eu-west-1/dynamodb/aws4_request" in headers["Authorization"] for headers in script.request_headers)


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (400, b'{"__type":"com.amazon.coral.service#AccessDeniedException","Message":"no"}', "AccessDeniedException"),
        (
            400,
            b'{"__type":"com.amazonaws.dynamodb.v20120810#ValidationException","message":"x"}',
            "ValidationException",
        ),
        (500, b"", "InternalServerError"),
        (503, b"<html>", "InternalServerError"),
        (400, b"not json", "Unreadable"),
        (200, b'{"Item":', "Unreadable"),
    ],
)
async def test_an_error_keeps_its_code(
    client: DynamoDbClient, script: Script, status: int, body: bytes, code: str
) -> None:
    script.status, script.body = status, body
    with pytest.raises(DynamoDbError) as raised:
        await client.call("GetItem", {}, CREDENTIALS)
    assert raised.value.code == code


async def test_an_answer_with_a_wrong_checksum_is_a_lost_connection(client: DynamoDbClient, script: Script) -> None:
    script.body = b'{"Items":[]}'
    script.headers = {"x-amz-crc32": str(zlib.crc32(script.body))}
    assert await client.call("Query", {}, CREDENTIALS) == {"Items": []}
    script.headers = {"x-amz-crc32": "1"}
    with pytest.raises(DynamoDbError) as raised:
        await client.call("Query", {}, CREDENTIALS)
    assert (raised.value.code, raised.value.rule.is_retryable) == ("ConnectionLost", True)


async def test_a_refused_connection_and_a_timeout_are_lost_connections() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        slow = DynamoDbClient(
            ConnectionOptions(region="x", endpoint_url=f"http://127.0.0.1:{port}", read_timeout_seconds=0.2)
        )
        with pytest.raises(DynamoDbError, match="ConnectionLost"):
            await slow.call("Query", {}, CREDENTIALS)
        slow.close()
    unreachable = DynamoDbClient(
        ConnectionOptions(region="x", endpoint_url=f"http://127.0.0.1:{port}", connect_timeout_seconds=0.2)
    )
    with pytest.raises(DynamoDbError, match="ConnectionLost"):
        await unreachable.call("Query", {}, CREDENTIALS)
    unreachable.close()


async def test_a_wrong_secret_key_is_refused_even_if_its_access_key_was_used_with_the_right_one(
    stack: ServiceStack, tenant: TenantId
) -> None:
    """The gate verifies signatures. A cache of signing keys by access key would hide the wrong secret key."""
    right = gate_access.tenant_session(stack.gate.session_issuer, tenant, may_write=False).credentials
    wrong = replace(right, secret_key="another secret key")
    key = {"PK": {"S": f"TENANT#{tenant}#USER#usr_1"}, "SK": {"S": "USER"}}
    client = stack.connections.tables.client
    for _ in range(2):
        assert await client.call("GetItem", {"TableName": stack.settings.table, "Key": key}, right) == {}
        with pytest.raises(DynamoDbError) as raised:
            await client.call("GetItem", {"TableName": stack.settings.table, "Key": key}, wrong)
        assert raised.value.code == "InvalidSignatureException"


async def test_an_error_keeps_the_consumed_capacity_that_it_reports(client: DynamoDbClient, script: Script) -> None:
    script.status = 400
    script.body = b'{"__type": "x#ConditionalCheckFailedException", "ConsumedCapacity": {"CapacityUnits": 2.0}}'
    with pytest.raises(DynamoDbError) as raised:
        await client.call("PutItem", {}, CREDENTIALS)
    assert raised.value.consumed_capacity == {"CapacityUnits": 2.0}


async def test_the_reasons_of_a_canceled_transaction_keep_their_order(client: DynamoDbClient, script: Script) -> None:
    script.status = 400
    script.body = (
        b'{"__type":"x#TransactionCanceledException","message":"m",'
        b'"CancellationReasons":[{"Code":"None"},{"Code":"ConditionalCheckFailed"},{}]}'
    )
    with pytest.raises(DynamoDbError) as raised:
        await client.call("TransactWriteItems", {}, CREDENTIALS)
    assert raised.value.cancellation_reasons == ("None", "ConditionalCheckFailed", "None")
    assert raised.value.rule.is_retryable is False
