"""A call gets the answer to its own request, or an error. It never gets the answer to another call."""

import asyncio

import pytest

from keyfence.store.dynamodb.error_codes import DynamoDbError
from keyfence_iam.credentials import Credentials
from tests.fakes.raw_http_server import Handler, RawConnection, echo, echo_answer, http_answer, raw_http_server
from tests.service.store.http_client.conftest import Connect


def answer_late(sent_bytes: int = 0) -> Handler:
    """Returns a handler that sends this many bytes of the answer to n=1, and the rest when the next request arrives.

    If the client used the connection again, the next call would read the answer to n=1."""

    async def handler(connection: RawConnection) -> None:
        request = await connection.read_request()
        if request.parameters["n"] == 1:
            connection.send_at_once(echo_answer(request)[:sent_bytes])
            connection.server.part_is_sent.set()
            await connection.read_request()
            connection.send(echo_answer(request)[sent_bytes:])
        else:
            connection.send(echo_answer(request))
        await echo(connection)

    return handler


@pytest.mark.parametrize(
    "sent_bytes", [0, 1, 30, -1], ids=["nothing", "a part of the status line", "a part of the head", "nearly all"]
)
async def test_the_next_call_does_not_get_the_answer_to_a_cancelled_call(connect: Connect, sent_bytes: int) -> None:
    async with raw_http_server(answer_late(sent_bytes)) as server:
        client = connect(server.url)
        call = asyncio.create_task(client.echo(1))
        await server.part_is_sent.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert await client.echo(2) == 2
        assert [request.connection for request in server.requests] == [0, 1]
        await server.connections[0].wait_for_end()


async def test_a_call_that_is_cancelled_together_with_its_answer_leaves_no_connection_behind(connect: Connect) -> None:
    async with raw_http_server(echo) as server:
        client = connect(server.url)
        for number in range(20):
            call = asyncio.create_task(client.echo(number))
            for _ in range(number):
                await asyncio.sleep(0)
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
            assert await client.echo(-number) == -number


async def test_the_next_call_does_not_get_the_late_answer_to_a_call_that_timed_out(connect: Connect) -> None:
    async with raw_http_server(answer_late()) as server:
        client = connect(server.url, read_timeout_seconds=0.1)
        with pytest.raises(DynamoDbError, match="ConnectionLost: ReadTimeout"):
            await client.echo(1)
        assert await client.echo(2) == 2
        await server.connections[0].wait_for_end()


async def test_two_answers_to_one_call_are_a_lost_connection(connect: Connect) -> None:
    """Nothing says which of the two belongs to the call."""

    async def handler(connection: RawConnection) -> None:
        request = await connection.read_request()
        if request.parameters["n"] == 1:
            connection.send(http_answer({"Echo": {"n": "another"}}) + echo_answer(request))
        else:
            connection.send(echo_answer(request))
        await connection.wait_until_closed()

    async with raw_http_server(handler) as server:
        client = connect(server.url)
        with pytest.raises(DynamoDbError, match="ConnectionLost"):
            await client.echo(1)
        assert await client.echo(2) == 2


async def test_a_second_answer_that_arrives_before_the_call_has_taken_the_first_ends_the_connection(
    connect: Connect,
) -> None:
    async def handler(connection: RawConnection) -> None:
        request = await connection.read_request()
        if request.parameters["n"] == 2:
            connection.send(echo_answer(request))
        await connection.wait_until_closed()

    async with raw_http_server(handler) as server:
        client = connect(server.url)
        call = asyncio.create_task(client.echo(1))
        await server.request_arrived.wait()
        (pool,) = client._pools.values()
        (connection,) = pool._open
        connection.data_received(http_answer({"Echo": {"n": 1}}))
        connection.data_received(http_answer({"Echo": {"n": "another"}}))
        assert await call == 1
        assert not connection.is_open
        assert await client.echo(2) == 2


@pytest.mark.parametrize("is_seen", [True, False], ids=["seen by the event loop", "still in the socket"])
@pytest.mark.parametrize("content", [http_answer({"Echo": {"n": "another"}}), b"H", b"\r\n"])
async def test_bytes_that_nobody_asked_for_do_not_answer_the_next_call(
    connect: Connect, content: bytes, is_seen: bool
) -> None:
    async with raw_http_server(echo) as server:
        client = connect(server.url)
        assert await client.echo(1) == 1
        server.connections[0].send_at_once(content)
        if is_seen:
            await asyncio.sleep(0.02)
        assert await client.echo(2) == 2
        assert [request.connection for request in server.requests] == [0, 1]


async def test_a_connection_carries_one_call_at_a_time(connect: Connect) -> None:
    running: set[int] = set()

    async def handler(connection: RawConnection) -> None:
        while True:
            request = await connection.read_request()
            assert connection.number not in running
            running.add(connection.number)
            await asyncio.sleep(0.001)
            running.discard(connection.number)
            connection.send(echo_answer(request))

    async with raw_http_server(handler) as server:
        client = connect(server.url, connections=4)
        numbers = range(100)
        assert await asyncio.gather(*(client.echo(number) for number in numbers)) == list(numbers)
        assert len(server.connections) == 4
        assert {len(request.body) for request in server.requests} <= {len(b'{"n":1}'), len(b'{"n":10}')}


async def test_calls_one_after_the_other_use_one_connection(connect: Connect) -> None:
    async with raw_http_server(echo) as server:
        client = connect(server.url)
        assert [await client.echo(number) for number in range(5)] == list(range(5))
        assert len(server.connections) == 1


async def test_a_connection_keeps_nothing_of_the_last_call(connect: Connect) -> None:
    async with raw_http_server(echo) as server:
        client = connect(server.url)
        await client.call("Query", {"n": "SECRET"}, Credentials("SECRET-ID", "SECRET-KEY", "SECRET-TOKEN"))
        (pool,) = client._pools.values()
        (connection,) = pool._idle
        assert "SECRET" not in repr(vars(connection))
        assert (connection._parser, connection._ended, connection._body) == (None, None, [])
        await client.call("Query", {"n": 2}, Credentials("OTHER", "other"))
        assert "SECRET" in server.requests[0].head
        assert "SECRET" not in server.requests[1].head


async def test_a_connection_refuses_a_second_request_before_the_first_is_answered(connect: Connect) -> None:
    async def handler(connection: RawConnection) -> None:
        await connection.read_request()
        await connection.wait_until_closed()

    async with raw_http_server(handler) as server:
        client = connect(server.url)
        call = asyncio.create_task(client.ask(1))
        await server.request_arrived.wait()
        (pool,) = client._pools.values()
        (connection,) = pool._open
        with pytest.raises(RuntimeError, match="one request at a time"):
            await connection.exchange(b"another request", 1.0)
        assert connection.is_open
        call.cancel()
