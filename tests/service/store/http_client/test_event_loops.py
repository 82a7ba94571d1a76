"""A client leaves no connection behind in an event loop that ends, and is used again in the next one."""

import asyncio
from collections.abc import Callable, Coroutine
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread

import pytest
import uvloop

from keyfence.store.dynamodb.error_codes import DynamoDbError
from tests.fakes.raw_http_server import RawConnection, echo, raw_http_server
from tests.service.store.http_client.conftest import Connect

RUNNERS = {"asyncio": asyncio.run, "uvloop": uvloop.run}
Run = Callable[[Coroutine[None, None, object]], object]


class EmptyAnswers(BaseHTTPRequestHandler):
    """Answers every call with an empty object, and keeps the connection open."""

    protocol_version = "HTTP/1.1"
    server: "CountingServer"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def finish(self) -> None:
        super().finish()
        self.server.connection_ended.set()

    def log_message(self, *_: object) -> None:
        pass


class CountingServer(ThreadingHTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), EmptyAnswers)
        self.connection_ended = Event()


@pytest.mark.parametrize("run", RUNNERS.values(), ids=RUNNERS.keys())
def test_the_end_of_an_event_loop_closes_its_connections_and_the_next_loop_opens_its_own(
    connect: Connect, run: Run
) -> None:
    with CountingServer() as server:
        Thread(target=server.serve_forever, daemon=True).start()
        client = connect(f"http://127.0.0.1:{server.server_port}")
        for _ in range(3):
            assert run(client.ask(1)) == {}
            assert server.connection_ended.wait(10)
            server.connection_ended.clear()
        assert len(client._pools) == 1
        server.shutdown()


def test_a_client_serves_two_event_loops_at_the_same_time(connect: Connect) -> None:
    with CountingServer() as server:
        Thread(target=server.serve_forever, daemon=True).start()
        client = connect(f"http://127.0.0.1:{server.server_port}")
        with asyncio.Runner() as one, asyncio.Runner() as another:
            for _ in range(3):
                assert one.run(client.ask(1)) == another.run(client.ask(1)) == {}
            assert len(client._pools) == 2
        server.shutdown()


async def test_close_ends_all_connections_and_running_calls(connect: Connect) -> None:
    async def handler(connection: RawConnection) -> None:
        request = await connection.read_request()
        if request.parameters["n"] == 1:
            await connection.wait_until_closed()
        await echo(connection)

    async with raw_http_server(handler) as server:
        client = connect(server.url)
        call = asyncio.create_task(client.ask(1))
        await server.request_arrived.wait()
        client.close()
        with pytest.raises(DynamoDbError, match="ConnectionLost"):
            await call
        await server.connections[0].wait_for_end()


@pytest.mark.parametrize("was_used", [True, False])
async def test_a_closed_client_refuses_calls(connect: Connect, was_used: bool) -> None:
    async with raw_http_server(echo) as server:
        client = connect(server.url)
        if was_used:
            assert await client.echo(1) == 1
        client.close()
        with pytest.raises(RuntimeError, match="the client is closed"):
            await client.ask(2)
