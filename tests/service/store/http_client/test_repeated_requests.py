"""A request is sent a second time only if the server closed an idle connection and the request changes nothing."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from keyfence.store.dynamodb.error_codes import DynamoDbError
from keyfence.store.dynamodb.http_connection import HttpAnswer, HttpConnection
from tests.fakes.raw_http_server import RawConnection, echo, echo_answer, raw_http_server
from tests.service.store.http_client.conftest import Connect

CALLS: list[tuple[str, dict[str, Any], bool]] = [
    ("GetItem", {}, True),
    ("BatchGetItem", {}, True),
    ("TransactGetItems", {}, True),
    ("Query", {}, True),
    ("Scan", {}, True),
    ("TransactWriteItems", {"ClientRequestToken": "a token"}, False),
    ("TransactWriteItems", {}, False),
    ("PutItem", {}, False),
    ("PutItem", {"ConditionExpression": "attribute_not_exists(PK)"}, False),
    ("UpdateItem", {}, False),
    ("UpdateItem", {"ConditionExpression": "version = :v"}, False),
    ("DeleteItem", {}, False),
    ("BatchWriteItem", {}, False),
    ("ExecuteStatement", {}, False),
]


async def close_after_second_request(connection: RawConnection) -> None:
    """Answers the first request. Closes the connection when the second arrives, as if it had been idle too long."""
    connection.send(echo_answer(await connection.read_request()))
    await connection.read_request()
    connection.close()


@pytest.mark.parametrize(("operation", "parameters", "is_read"), CALLS)
async def test_only_a_read_is_sent_on_a_second_connection(
    connect: Connect, operation: str, parameters: dict[str, Any], is_read: bool
) -> None:
    async with raw_http_server(close_after_second_request) as server:
        client = connect(server.url)
        assert await client.echo(1) == 1
        if is_read:
            assert await client.ask(2, operation, **parameters) == {"Echo": {"n": 2, **parameters}}
        else:
            with pytest.raises(DynamoDbError, match="ConnectionLost"):
                await client.ask(2, operation, **parameters)
        assert [request.parameters["n"] for request in server.requests] == [1, 2, 2][: 3 if is_read else 2]


async def test_a_request_is_repeated_once_at_most(connect: Connect) -> None:
    """The second attempt uses a new connection, which was never idle."""

    async def handler(connection: RawConnection) -> None:
        request = await connection.read_request()
        if request.parameters["n"] == 1:
            connection.send(echo_answer(request))
            await connection.read_request()

    async with raw_http_server(handler) as server:
        client = connect(server.url)
        assert await client.echo(1) == 1
        with pytest.raises(DynamoDbError, match="ConnectionLost"):
            await client.ask(2)
        assert [request.parameters["n"] for request in server.requests] == [1, 2, 2]


async def test_a_request_is_not_repeated_if_a_new_connection_is_closed(connect: Connect) -> None:
    async def handler(connection: RawConnection) -> None:
        await connection.read_request()

    async with raw_http_server(handler) as server:
        with pytest.raises(DynamoDbError, match="ConnectionLost"):
            await connect(server.url).ask(1)
        assert len(server.requests) == 1


@pytest.mark.parametrize("sent_bytes", [1, 20, -1])
async def test_a_request_is_not_repeated_after_the_first_byte_of_an_answer(connect: Connect, sent_bytes: int) -> None:
    async def handler(connection: RawConnection) -> None:
        connection.send(echo_answer(await connection.read_request()))
        connection.send(echo_answer(await connection.read_request())[:sent_bytes])
        connection.close()

    async with raw_http_server(handler) as server:
        client = connect(server.url)
        assert await client.echo(1) == 1
        with pytest.raises(DynamoDbError, match="ConnectionLost"):
            await client.ask(2)
        assert len(server.requests) == 2


async def test_a_request_is_not_repeated_after_a_timeout(connect: Connect) -> None:
    async def handler(connection: RawConnection) -> None:
        connection.send(echo_answer(await connection.read_request()))
        await connection.read_request()
        await connection.wait_until_closed()

    async with raw_http_server(handler) as server:
        client = connect(server.url, read_timeout_seconds=0.1)
        assert await client.echo(1) == 1
        with pytest.raises(DynamoDbError, match="ReadTimeout"):
            await client.ask(2)
        assert len(server.requests) == 2


async def test_both_attempts_together_have_one_read_timeout(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job waits for one connect timeout and one read timeout. After that, no call of the old state may arrive."""
    timeouts: list[float] = []
    exchange = HttpConnection.exchange

    async def record_timeout(connection: HttpConnection, request: bytes, timeout_seconds: float) -> HttpAnswer:
        timeouts.append(timeout_seconds)
        return await exchange(connection, request, timeout_seconds)

    async def handler(connection: RawConnection) -> None:
        connection.send(echo_answer(await connection.read_request()))
        await connection.read_request()
        await asyncio.sleep(0.02)

    monkeypatch.setattr(HttpConnection, "exchange", record_timeout)
    async with raw_http_server(handler) as server:
        client = connect(server.url, read_timeout_seconds=5.0)
        assert [await client.echo(number) for number in (1, 2)] == [1, 2]
        first_call, first_attempt, second_attempt = timeouts
        assert first_call == first_attempt == 5.0
        assert second_attempt < first_attempt


@pytest.mark.parametrize(
    ("close", "is_seen"),
    [(RawConnection.close, True), (RawConnection.shut_down_at_once, True), (RawConnection.shut_down_at_once, False)],
    ids=["closed", "shut down", "shut down, not yet seen by the event loop"],
)
async def test_a_write_does_not_use_a_connection_that_the_server_has_closed(
    connect: Connect, close: Callable[[RawConnection], None], is_seen: bool
) -> None:
    async with raw_http_server(echo) as server:
        client = connect(server.url)
        assert await client.echo(1) == 1
        close(server.connections[0])
        if is_seen:
            await asyncio.sleep(0.02)
            (pool,) = client._pools.values()
            assert not pool._idle
        assert await client.echo(2, "PutItem") == 2
        assert [request.parameters["n"] for request in server.requests] == [1, 2]
