"""The size of request headers is limited, and a WebSocket request logs no warning."""

import asyncio
import logging

import pytest

from keyfence_iam.gate.server import LIMITS
from tests.iam.gate.server.raw_client import GET_ITEM, gate_with_engine, raw_request, send_raw, tenant_caller

REQUEST_START = b"POST / HTTP/1.1\r\nhost: x\r\n"


async def response_to(url: str, parts: list[bytes]) -> bytes:
    """Returns the response. Fails if the connection is not closed after it."""
    host, _, port = url.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        for part in parts:
            writer.write(part)
            await writer.drain()
        return await asyncio.wait_for(reader.read(), 10)
    except ConnectionError:
        return b"HTTP/1.1 431 and reset"
    finally:
        writer.close()


@pytest.mark.parametrize(
    "parts",
    [
        [REQUEST_START, b"x-endless: ", *[b"a" * 8192] * 9],
        [REQUEST_START, *[b"x-header: %s\r\n" % (b"a" * 1000)] * 70],
        [REQUEST_START + b"x-header: " + b"a" * LIMITS.head_bytes + b"\r\ncontent-length: 0\r\n\r\n"],
        [b"POST /", *[b"a" * 8192] * 9],
        [REQUEST_START, b"transfer-encoding: chunked\r\n\r\n0\r\n", *[b"x-trailer: %s\r\n" % (b"a" * 1000)] * 70],
    ],
    ids=["a value without end", "headers without end", "a whole head", "a path without end", "trailers"],
)
async def test_headers_that_are_too_large_are_rejected_and_the_connection_is_closed(parts: list[bytes]) -> None:
    async with gate_with_engine() as (gate, engine):
        assert (await response_to(gate.url, parts)).startswith(b"HTTP/1.1 431 ")
    assert engine.requests == []


async def test_the_limit_also_applies_to_the_second_request_of_a_connection() -> None:
    first = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"
    async with gate_with_engine() as (gate, _):
        replies = await response_to(gate.url, [first, REQUEST_START, b"x-endless: ", *[b"a" * 8192] * 64])
    assert b"HTTP/1.1 431 " in replies


async def test_headers_below_the_limit_are_accepted_and_bodies_do_not_count() -> None:
    padding = "a" * (LIMITS.head_bytes - 4096)
    large = GET_ITEM[:-1] + b" " * 1_000_000 + b"}"
    async with gate_with_engine() as (gate, _):
        assert (await tenant_caller(gate).call("GetItem", GET_ITEM, x_padding=padding)).status == 200
        assert (await tenant_caller(gate).call("GetItem", large)).status == 200


async def test_the_limit_counts_each_request_of_a_connection_separately() -> None:
    large = GET_ITEM[:-1] + b" " * 50_000 + b"}"
    async with gate_with_engine() as (gate, _):
        request = tenant_caller(gate).request("DynamoDB_20120810.GetItem", large)
        host, _, port = gate.url.removeprefix("http://").partition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        for _ in range(5):
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200 ")
            length = next(line for line in head.split(b"\r\n") if line.startswith(b"content-length: "))
            await reader.readexactly(int(length[16:]))
        writer.close()


async def test_a_websocket_request_is_rejected_without_a_warning_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    upgrade = [("host", "x"), ("connection", "upgrade"), ("upgrade", "websocket"), ("content-length", "0")]
    async with gate_with_engine() as (gate, _):
        assert (await send_raw(gate.url, raw_request("/", upgrade, b""))).status in {400, 403}
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []
