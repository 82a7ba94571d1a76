"""A client that sends too much, too slowly or over too many connections is disconnected. Other clients are not."""

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
import uvicorn

from keyfence_iam.http_connection_limits import (
    CONNECTION_GUARD_KEY,
    BoundedProtocol,
    ConnectionGuard,
    ConnectionLimits,
    Violation,
)

GET = b"GET / HTTP/1.1\r\nHost: test\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: test\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
SHORT = ConnectionLimits(
    head_bytes=8_192,
    headers=20,
    head_seconds=0.3,
    body_bytes=65_536,
    body_seconds=0.3,
    write_seconds=0.3,
    connections=40,
    connections_per_peer=30,
)
LARGE_RESPONSE = 64 * 1024 * 1024
PATIENCE_SECONDS = 10.0


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """Responds with the length of the body, with a large body at /large, and after a second at /slow."""
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        size, more = size + len(message.get("body", b"")), message.get("more_body", False)
    if scope["path"] == "/slow":
        await asyncio.sleep(1.0)
    content = b"x" * LARGE_RESPONSE if scope["path"] == "/large" else str(size).encode()
    headers = [(b"content-length", str(len(content)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": content})


class GuardedServer(uvicorn.Server):
    """Puts a guard into the lifespan state, as the lifespan of an application does."""

    def __init__(self, config: uvicorn.Config, guard: ConnectionGuard) -> None:
        super().__init__(config)
        self._guard = guard

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self.lifespan.state[CONNECTION_GUARD_KEY] = self._guard
        await super().startup(sockets)


class Server:
    """uvicorn in a thread, with these limits."""

    def __init__(self, limits: ConnectionLimits, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("keyfence_iam.http_connection_limits.SWEEP_SECONDS", 0.05)
        self.guard = ConnectionGuard(limits)
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.address = self._listener.getsockname()
        config = uvicorn.Config(echo, http=BoundedProtocol, lifespan="off", log_config=None, timeout_keep_alive=1)
        self._server = GuardedServer(config, self.guard)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._listener]})
        self._thread.start()
        wait_until(lambda: self._server.started)

    def stop(self) -> None:
        self._server.should_exit = self._server.force_exit = True
        self._thread.join()
        self._listener.close()

    @contextmanager
    def connected(self) -> Iterator[socket.socket]:
        with socket.create_connection(self.address, timeout=PATIENCE_SECONDS) as connection:
            yield connection

    def request(self, data: bytes = GET) -> bytes:
        with self.connected() as connection:
            connection.sendall(data)
            return received_until(connection, b"\r\n\r\n")


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "the condition did not become true in time"
        time.sleep(0.01)


def received_until(connection: socket.socket, end: bytes) -> bytes:
    data = b""
    while end not in data and (part := connection.recv(65_536)):
        data += part
    return data


def rest_of(connection: socket.socket) -> bytes:
    """Returns what the server sends until it closes the connection."""
    data = b""
    try:
        while part := connection.recv(65_536):
            data += part
    except ConnectionResetError:
        pass
    return data


def send_until_closed(connection: socket.socket, part: bytes, most: int) -> int:
    """Sends a part again and again. Returns how many bytes the server took before it closed the connection."""
    sent = 0
    try:
        while sent < most:
            connection.sendall(part)
            sent += len(part)
    except (BrokenPipeError, ConnectionResetError):
        pass
    return sent


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    running = Server(SHORT, monkeypatch)
    yield running
    running.stop()


def test_requests_within_the_limits_are_served_on_one_connection(server: Server) -> None:
    with server.connected() as connection:
        for size in (0, 1, 60_000):
            connection.sendall(POST + f"Content-Length: {size}\r\n\r\n".encode() + b"x" * size)
            assert received_until(connection, b"\r\n\r\n" + str(size).encode()).startswith(b"HTTP/1.1 200")
    assert not server.guard.violations


@pytest.mark.parametrize(
    ("start", "part"),
    [
        pytest.param(b"", b"a" * 4_096, id="method"),
        pytest.param(b"GET /", b"a" * 4_096, id="path"),
        pytest.param(b"GET / HTTP/1.1\r\na", b"a" * 4_096, id="header name"),
        pytest.param(b"GET / HTTP/1.1\r\na: ", b"a" * 4_096, id="header value"),
        pytest.param(b"GET / HTTP/1.1\r\na: ", b" " * 4_096, id="blanks"),
        pytest.param(b"", b"\r\n" * 2_048, id="empty lines"),
    ],
)
def test_an_endless_head_is_cut_off(server: Server, start: bytes, part: bytes) -> None:
    with server.connected() as connection:
        connection.sendall(start)
        sent = send_until_closed(connection, part, most=64 * 1024 * 1024)
    assert sent < 8 * 1024 * 1024  # what socket buffers can hold
    assert server.request().startswith(b"HTTP/1.1 200")


def test_too_large_headers_are_named_in_the_response(server: Server) -> None:
    head = b"GET / HTTP/1.1\r\nHost: test\r\na: " + b"x" * SHORT.head_bytes + b"\r\n\r\n"
    assert server.request(head).startswith(b"HTTP/1.1 431")
    assert server.guard.violations == {"head_bytes": 1}


def test_too_many_headers_are_named_in_the_response(server: Server) -> None:
    headers = [f"h{number}: x\r\n".encode() for number in range(SHORT.headers)]
    assert server.request(b"GET / HTTP/1.1\r\n" + b"".join(headers) + b"\r\n").startswith(b"HTTP/1.1 200")
    assert server.request(GET[:-2] + b"".join(headers) + b"\r\n").startswith(b"HTTP/1.1 431")
    assert server.guard.violations == {"headers": 1}


@pytest.mark.parametrize("start", [b"", b"G", GET[:-2], GET + b"GET /"], ids=["silent", "one byte", "no end", "second"])
def test_a_client_that_does_not_finish_its_head_is_disconnected(server: Server, start: bytes) -> None:
    with server.connected() as connection:
        connection.sendall(start)
        response = rest_of(connection)
    assert (b"408" in response) is bool(start)
    assert server.guard.violations == {"head_seconds": 1}


def test_a_client_that_sends_its_head_byte_by_byte_is_disconnected(server: Server) -> None:
    with server.connected() as connection:
        started = time.monotonic()
        try:
            for byte in GET[:-2] + b"a: " + b"x" * 1_000:
                connection.sendall(bytes([byte]))
                time.sleep(0.02)
        except (BrokenPipeError, ConnectionResetError):
            pass
        assert time.monotonic() - started < PATIENCE_SECONDS
    assert server.guard.violations == {"head_seconds": 1}


@pytest.mark.parametrize("part", [b"", b"x"], ids=["nothing", "byte by byte"])
@pytest.mark.parametrize(
    "head", [POST + b"Content-Length: 5000\r\n\r\n", CHUNKED + b"1388\r\n"], ids=["sized", "chunked"]
)
def test_a_client_that_does_not_finish_its_body_is_disconnected(server: Server, head: bytes, part: bytes) -> None:
    with server.connected() as connection:
        connection.sendall(head)
        try:
            for _ in range(100):
                connection.sendall(part)
                time.sleep(0.02)
        except (BrokenPipeError, ConnectionResetError):
            pass
        assert b"200 OK" not in rest_of(connection)
    assert server.guard.violations == {"body_seconds": 1}


@pytest.mark.parametrize(
    ("start", "part"),
    [
        pytest.param(b"5;", b"x" * 4_096, id="one extension without end"),
        pytest.param(b"", b"1;" + b"x" * 200 + b"\r\nx\r\n", id="many extensions"),
        pytest.param(b"", b"1000\r\n" + b"x" * 4_096 + b"\r\n", id="content"),
        pytest.param(b"0\r\n", b"a: " + b"x" * 200 + b"\r\n", id="trailers"),
    ],
)
def test_an_endless_chunked_body_is_cut_off(server: Server, start: bytes, part: bytes) -> None:
    with server.connected() as connection:
        connection.sendall(CHUNKED + start)
        sent = send_until_closed(connection, part, most=64 * 1024 * 1024)
    assert sent < 8 * 1024 * 1024
    assert server.guard.violations.keys() <= {"body_bytes", "head_bytes", "headers"}
    assert server.guard.violations.total() == 1


def test_a_response_that_takes_longer_than_the_limits_is_waited_for(server: Server) -> None:
    with server.connected() as connection:
        connection.sendall(GET.replace(b"/ ", b"/slow ") + b"GET")
        assert received_until(connection, b"\r\n\r\n").startswith(b"HTTP/1.1 200")


def test_a_client_that_does_not_read_its_response_is_disconnected(server: Server) -> None:
    with server.connected() as connection:
        connection.sendall(GET.replace(b"/ ", b"/large "))
        wait_until(lambda: server.guard.violations["write_seconds"] == 1)
        assert len(rest_of(connection)) < LARGE_RESPONSE


def test_an_idle_connection_is_closed_after_the_keep_alive_time(server: Server) -> None:
    with server.connected() as connection:
        connection.sendall(GET)
        assert rest_of(connection).startswith(b"HTTP/1.1 200")
    assert not server.guard.violations


def connect_many(server: Server, count: int, opened: ExitStack) -> None:
    for _ in range(count):
        opened.enter_context(server.connected())


def test_one_peer_cannot_take_all_connections(server: Server) -> None:
    with ExitStack() as opened:
        connect_many(server, 200, opened)
        wait_until(lambda: server.guard.violations["peer"] == 200 - SHORT.connections_per_peer)
        other_address = ("127.0.0.2", 0)
        with socket.create_connection(server.address, PATIENCE_SECONDS, source_address=other_address) as neighbour:
            neighbour.sendall(GET)
            assert received_until(neighbour, b"\r\n\r\n").startswith(b"HTTP/1.1 200")
    wait_until(lambda: len(server.guard) == 0)
    assert server.request().startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("proxy", ["127.0.0.1", "127.0.0.0/8", "*"])
def test_a_trusted_proxy_may_use_all_connections_and_not_more(proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = ConnectionLimits(connections=20, connections_per_peer=5, trusted_proxies=["proxy.example", proxy])
    server = Server(limits, monkeypatch)
    try:
        with ExitStack() as opened:
            connect_many(server, 30, opened)
            wait_until(lambda: server.guard.violations["connections"] == 10)
            assert server.guard.violations["peer"] == 0
    finally:
        server.stop()


def test_small_responses_are_sent_without_delay(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    accepted: list[BoundedProtocol] = []
    add = ConnectionGuard.add

    def recording_add(guard: ConnectionGuard, connection: BoundedProtocol, peer: str) -> Violation | None:
        accepted.append(connection)
        return add(guard, connection, peer)

    monkeypatch.setattr(ConnectionGuard, "add", recording_add)
    with server.connected() as connection:
        connection.sendall(GET)
        received_until(connection, b"\r\n\r\n")
        (protocol,) = accepted
        assert protocol.transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
