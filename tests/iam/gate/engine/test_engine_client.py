"""A request reaches the engine once and unchanged. A response is returned completely or not at all."""

import asyncio
import socket

import pytest

from keyfence_iam.gate.engine.engine_client import EngineAddress, EngineClient, EngineUnreachable, InvalidEngineUrl
from tests.iam.gate.server.scripted_engine import OK, start_engine

HEADERS = [(b"content-type", b"application/x-amz-json-1.0"), (b"x-amz-target", b"DynamoDB_20120810.GetItem")]
BODY = b' {"a" :\t"\xc3\xa4\\u00e4"}\n'


async def test_the_body_and_the_headers_arrive_byte_for_byte() -> None:
    async with start_engine() as (engine, url):
        engine_client = EngineClient(url)
        await engine_client.post(HEADERS, BODY)
        engine_client.close()
    head, body = engine.requests[0]
    assert body == BODY
    assert head == (
        b"POST / HTTP/1.1\r\nhost: %s\r\ncontent-length: %d\r\n"
        b"content-type: application/x-amz-json-1.0\r\nx-amz-target: DynamoDB_20120810.GetItem\r\n\r\n"
    ) % (url.removeprefix("http://").encode(), len(BODY))


async def test_status_headers_and_body_of_the_response_are_returned_unchanged() -> None:
    answer = (
        b"HTTP/1.1 418 Odd\r\nX-Amz-Crc32: 7\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nContent-Length: 3\r\n\r\n\x00\xffx"
    )
    async with start_engine(lambda *_: answer) as (_, url):
        engine_client = EngineClient(url)
        received = await engine_client.post(HEADERS, BODY)
        engine_client.close()
    assert (received.status, received.body) == (418, b"\x00\xffx")
    assert received.headers == [
        (b"x-amz-crc32", b"7"),
        (b"set-cookie", b"a"),
        (b"set-cookie", b"b"),
        (b"content-length", b"3"),
    ]


async def test_a_chunked_response_is_returned_with_its_length() -> None:
    answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n3\r\n   \r\n0\r\n\r\n"
    async with start_engine(lambda *_: answer) as (_, url):
        engine_client = EngineClient(url)
        received = await engine_client.post(HEADERS, BODY)
        engine_client.close()
    assert received.body == b"{}   "
    assert received.headers == [(b"content-length", b"5")]


async def test_an_informational_response_is_skipped() -> None:
    async with start_engine(lambda *_: b"HTTP/1.1 100 Continue\r\n\r\n" + OK) as (_, url):
        engine_client = EngineClient(url)
        assert (await engine_client.post(HEADERS, BODY)).status == 200
        engine_client.close()


async def test_sequential_calls_share_a_connection() -> None:
    async with start_engine() as (engine, url):
        engine_client = EngineClient(url)
        for _ in range(5):
            await engine_client.post(HEADERS, BODY)
        engine_client.close()
    assert (engine.connections, len(engine.requests)) == (1, 5)


async def test_a_connection_that_the_engine_closes_is_not_reused() -> None:
    closing = b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}"
    async with start_engine(lambda *_: closing) as (engine, url):
        engine_client = EngineClient(url)
        for _ in range(3):
            await engine_client.post(HEADERS, BODY)
        engine_client.close()
    assert (engine.connections, len(engine.requests)) == (3, 3)


async def test_an_idle_connection_that_was_closed_is_replaced() -> None:
    async with start_engine() as (engine, url):
        engine_client = EngineClient(url)
        await engine_client.post(HEADERS, BODY)
        engine.close_connections()
        await asyncio.sleep(0.05)
        assert (await engine_client.post(HEADERS, BODY)).status == 200
        engine_client.close()
    assert (engine.connections, len(engine.requests)) == (2, 2)


@pytest.mark.parametrize(
    "answer",
    [
        None,
        b"",
        b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\n\r\nuntil the end",
        b"SMTP ready\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n{}",
    ],
    ids=repr,
)
async def test_an_incomplete_response_raises_an_error_and_the_request_is_not_repeated(answer: bytes | None) -> None:
    def respond_and_close(*_: bytes) -> bytes | None:
        asyncio.get_running_loop().call_later(0.05, engine.close_connections)
        return answer

    async with start_engine(respond_and_close) as (engine, url):
        engine_client = EngineClient(url)
        with pytest.raises(EngineUnreachable) as error:
            await engine_client.post(HEADERS, BODY)
        engine_client.close()
    assert error.value.may_be_executed
    assert len(engine.requests) == 1


async def test_an_unrequested_response_is_never_used_for_the_next_request() -> None:
    """Otherwise a second response after the first could be read as the response to the next request."""
    async with start_engine(lambda *_: OK + b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nforged") as (engine, url):
        engine_client = EngineClient(url)
        bodies = [(await engine_client.post(HEADERS, BODY)).body for _ in range(3)]
        engine_client.close()
    assert bodies == [b"{}"] * 3
    assert engine.connections == 3


async def test_no_other_caller_gets_the_response_for_a_cancelled_caller() -> None:
    async with start_engine(
        lambda _, body: OK if body == b"late" else b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n2"
    ) as (
        engine,
        url,
    ):
        engine_client = EngineClient(url, max_connections=1)
        await engine_client.post(HEADERS, b"first")
        waiting = asyncio.create_task(engine_client.post(HEADERS, b"late"))
        await asyncio.sleep(0)
        waiting.cancel()
        assert (await engine_client.post(HEADERS, b"next")).body == b"2"
        async with asyncio.timeout(5):
            await engine.client_disconnected.wait()
        engine_client.close()
    assert engine.connections == 2


async def test_a_timeout_raises_an_error() -> None:
    async with start_engine(lambda *_: b"") as (_, url):
        engine_client = EngineClient(url, response_seconds=0.05)
        with pytest.raises(EngineUnreachable, match="no response within"):
            await engine_client.post(HEADERS, BODY)
        engine_client.close()


async def test_the_error_for_an_unreachable_engine_says_that_nothing_was_executed() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    with pytest.raises(EngineUnreachable, match="cannot be reached") as error:
        await EngineClient(url).post(HEADERS, BODY)
    assert not error.value.may_be_executed


async def test_the_number_of_connections_is_limited() -> None:
    async with start_engine() as (engine, url):
        engine_client = EngineClient(url, max_connections=3)
        await asyncio.gather(*(engine_client.post(HEADERS, BODY) for _ in range(30)))
        engine_client.close()
    assert engine.connections <= 3
    assert len(engine.requests) == 30


@pytest.mark.parametrize(
    "url",
    ["", "localhost:8000", "ftp://x", "http://", "http://x:port", "http://x/path", "http://x/?q", "http://x:99999"],
)
def test_an_invalid_engine_url_is_rejected(url: str) -> None:
    with pytest.raises(InvalidEngineUrl, match="is not the URL of an engine"):
        EngineAddress.parse(url)


def test_the_default_ports_are_those_of_the_scheme() -> None:
    assert EngineAddress.parse("http://engine") == EngineAddress(host="engine", port=80)
    assert EngineAddress.parse("https://engine/") == EngineAddress(host="engine", port=443, uses_tls=True)
    assert str(EngineAddress.parse("http://[::1]:8000")) == "[::1]:8000"
