"""An answer that is lost, cut, slow, too large or not HTTP is an error of its call. Other calls are not affected."""

import asyncio
import zlib

import pytest

from keyfence.store.dynamodb import connection_pool, http_connection
from keyfence.store.dynamodb.error_codes import DynamoDbError
from tests.fakes.raw_http_server import Handler, RawConnection, echo, echo_answer, http_answer, raw_http_server
from tests.service.store.http_client.conftest import Connect

WHOLE = http_answer({"Items": []})
HEAD = b"HTTP/1.1 200 OK\r\n"

BROKEN_ANSWERS = {
    "nothing": b"",
    "one byte": b"H",
    "half a head": HEAD,
    "half a body": WHOLE[:-1],
    "not HTTP": b"SSH-2.0-OpenSSH_9.9\r\n" * 10,
    "binary": bytes(range(256)),
    "HTTP/2": b"\x00\x00\x12\x04\x00\x00\x00\x00\x00",
    "two lengths": HEAD + b"Content-Length: 2\r\nContent-Length: 12\r\n\r\n{}",
    "length and chunks": HEAD + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "negative length": HEAD + b"Content-Length: -2\r\n\r\n{}",
    "no length": HEAD + b"\r\n{}",
    "half a chunk": HEAD + b"Transfer-Encoding: chunked\r\n\r\n8\r\n{}",
    "no last chunk": HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n",
    "wrong chunk size": HEAD + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n{}\r\n0\r\n\r\n",
    "another protocol": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    "interim answer alone": b"HTTP/1.1 100 Continue\r\n\r\n",
    "more than the length": WHOLE + b"x",
    "wrong checksum": http_answer({"Items": []}, "x-amz-crc32: 1"),
    "no checksum": http_answer({"Items": []}, "x-amz-crc32: none"),
}


def answer_first(content: bytes) -> Handler:
    """Returns a handler that sends these bytes for n=1 and closes the connection. It echoes other requests."""

    async def handler(connection: RawConnection) -> None:
        while True:
            request = await connection.read_request()
            if request.parameters["n"] == 1:
                connection.send(content)
                await connection.writer.drain()
                connection.close()
                return
            connection.send(echo_answer(request))

    return handler


@pytest.mark.parametrize("on_new_connection", [True, False], ids=["new connection", "used connection"])
@pytest.mark.parametrize("content", BROKEN_ANSWERS.values(), ids=BROKEN_ANSWERS.keys())
async def test_a_broken_answer_is_a_lost_connection_and_the_next_call_succeeds(
    connect: Connect, content: bytes, on_new_connection: bool
) -> None:
    async with raw_http_server(answer_first(content)) as server:
        client = connect(server.url)
        if not on_new_connection:
            assert await client.echo(0) == 0
        with pytest.raises(DynamoDbError) as raised:
            await client.ask(1, "PutItem")
        assert (raised.value.code, raised.value.rule.is_retryable) == ("ConnectionLost", True)
        assert await client.echo(2) == 2
        assert [request.parameters["n"] for request in server.requests if request.parameters["n"]] == [1, 2]


async def test_bytes_that_are_not_http_end_the_call_before_its_timeout(connect: Connect) -> None:
    async def handler(connection: RawConnection) -> None:
        await connection.read_request()
        connection.send(BROKEN_ANSWERS["not HTTP"])
        await connection.wait_until_closed()

    async with raw_http_server(handler) as server:
        with pytest.raises(DynamoDbError, match="the answer is not HTTP"):
            await connect(server.url).ask(1)
        await server.connections[0].wait_for_end()


async def test_a_connection_that_cannot_be_opened_is_forgotten(connect: Connect) -> None:
    async with raw_http_server(echo) as server:
        url = server.url
    client = connect(url)
    with pytest.raises(DynamoDbError, match="ConnectionLost: cannot connect"):
        await client.ask(1)
    (pool,) = client._pools.values()
    assert not pool._open


CHECKSUM = zlib.crc32(b'{"n":1}')
GOOD_ANSWERS = {
    "chunks": HEAD + b'Transfer-Encoding: chunked\r\n\r\n4\r\n{"n"\r\n3;x=y\r\n:1}\r\n0\r\n\r\n',
    "a trailer with the checksum": HEAD
    + b'Transfer-Encoding: chunked\r\n\r\n7\r\n{"n":1}\r\n0\r\nx-amz-crc32: %d\r\n\r\n' % CHECKSUM,
    "100 Continue before it": b"HTTP/1.1 100 Continue\r\n\r\n" + http_answer({"n": 1}),
    "several interim answers": b"HTTP/1.1 103 Early Hints\r\nx-amz-crc32: 1\r\n\r\n" * 3 + http_answer({"n": 1}),
    "the right checksum": http_answer({"n": 1}, f"X-Amz-Crc32: {CHECKSUM}"),
    "many headers": http_answer({"n": 1}, *(f"x-{number}: y" for number in range(200))),
    "the end of the connection": http_answer({"n": 1}, "Connection: close"),
    "HTTP/1.0": http_answer({"n": 1}).replace(b"HTTP/1.1", b"HTTP/1.0"),
}


@pytest.mark.parametrize("pieces", ["whole", "bytes"])
@pytest.mark.parametrize("content", GOOD_ANSWERS.values(), ids=GOOD_ANSWERS.keys())
async def test_an_answer_is_read_in_every_form_of_http(connect: Connect, content: bytes, pieces: str) -> None:
    async def handler(connection: RawConnection) -> None:
        await connection.read_request()
        for piece in [content] if pieces == "whole" else [bytes([byte]) for byte in content]:
            connection.send_at_once(piece)
            await asyncio.sleep(0)
        await connection.wait_until_closed()

    async with raw_http_server(handler) as server:
        assert await connect(server.url).ask(1) == {"n": 1}


async def test_a_connection_that_the_server_ends_with_its_answer_is_not_used_again(connect: Connect) -> None:
    async def handler(connection: RawConnection) -> None:
        await connection.read_request()
        connection.send(http_answer({}, "Connection: close"))
        await connection.wait_until_closed()

    async with raw_http_server(handler) as server:
        client = connect(server.url)
        for _ in range(3):
            assert await client.ask(1, "PutItem") == {}
        assert len(server.connections) == 3


async def test_an_answer_must_be_complete_before_the_read_timeout_even_if_bytes_keep_arriving(connect: Connect) -> None:
    async def handler(connection: RawConnection) -> None:
        await connection.read_request()
        connection.send(HEAD + b"Content-Length: 1000000\r\n\r\n")
        while True:
            connection.send(b" ")
            await connection.writer.drain()
            await asyncio.sleep(0.01)

    async with raw_http_server(handler) as server:
        with pytest.raises(DynamoDbError, match="ReadTimeout"):
            await connect(server.url, read_timeout_seconds=0.2).ask(1)


@pytest.mark.parametrize(
    "content",
    [
        HEAD + b"Content-Length: 100000000\r\n\r\n" + b" " * 3000,
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 500,
        HEAD + b"x-long: " + b"x" * 3000,
        HEAD + b"x: y\r\n" * 500,
        b"HTTP/1.1 100 Continue\r\n\r\n" * 200,
    ],
    ids=["length", "chunks", "header", "headers", "interim answers"],
)
async def test_an_answer_that_is_too_large_is_not_read_to_its_end_and_not_repeated(
    connect: Connect, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_connection, "MAX_ANSWER_BYTES", 2000)
    monkeypatch.setattr(http_connection, "MAX_HEAD_BYTES", 1000)

    async def handler(connection: RawConnection) -> None:
        await connection.read_request()
        connection.send(content)
        await connection.wait_until_closed()

    async with raw_http_server(handler) as server:
        with pytest.raises(DynamoDbError) as raised:
            await connect(server.url).ask(1)
        assert (raised.value.code, raised.value.rule.is_retryable) == ("Unreadable", False)
        await server.connections[0].wait_for_end()


async def test_an_answer_of_many_megabytes_arrives_whole(connect: Connect) -> None:
    text = "x" * 5_000_000

    async def handler(connection: RawConnection) -> None:
        await connection.read_request()
        connection.send(http_answer({"Text": text}))
        await connection.wait_until_closed()

    async with raw_http_server(handler) as server:
        assert await connect(server.url).ask(text) == {"Text": text}


async def test_a_connection_that_is_too_old_is_replaced(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    async with raw_http_server(echo) as server:
        client = connect(server.url)
        assert await client.echo(1) == 1
        monkeypatch.setattr(connection_pool, "MAX_CONNECTION_SECONDS", -1.0)
        assert await client.echo(2) == 2
        assert len(server.connections) == 2
        await server.connections[0].wait_for_end()
