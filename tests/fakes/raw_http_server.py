"""An HTTP server on 127.0.0.1 that sends exactly the bytes that a test tells it, in the event loop of the test."""

import asyncio
import re
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import orjson


@dataclass(frozen=True, slots=True)
class RawRequest:
    """A request as it arrived."""

    connection: int
    """The number of the connection, from 0."""
    head: str
    body: bytes

    @property
    def parameters(self) -> Any:
        return orjson.loads(self.body)


@dataclass(slots=True)
class RawConnection:
    """The server's side of a connection."""

    server: "RawServer"
    number: int
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the handler has returned, or has met the end of the connection."""

    async def read_request(self) -> RawRequest:
        """Returns the next request. Raises IncompleteReadError if the client closes the connection."""
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        length = re.search(r"content-length: (\d+)", head, re.IGNORECASE)
        body = await self.reader.readexactly(int(length[1]) if length else 0)
        request = RawRequest(self.number, head, body)
        self.server.requests.append(request)
        self.server.request_arrived.set()
        return request

    def send(self, content: bytes) -> None:
        self.writer.write(content)

    def send_at_once(self, content: bytes) -> None:
        """Puts the bytes into the client's socket before the event loop runs again."""
        with socket.fromfd(self.writer.get_extra_info("socket").fileno(), socket.AF_INET, socket.SOCK_STREAM) as sock:
            sock.sendall(content)

    def shut_down_at_once(self) -> None:
        """Closes the server's direction of the connection before the event loop runs again."""
        with socket.fromfd(self.writer.get_extra_info("socket").fileno(), socket.AF_INET, socket.SOCK_STREAM) as sock:
            sock.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self.writer.close()

    async def wait_for_end(self) -> None:
        """Returns when the handler has ended. Raises TimeoutError if the client never closes the connection."""
        await asyncio.wait_for(self.ended.wait(), 10)

    async def wait_until_closed(self) -> None:
        """Returns when the client has closed the connection."""
        with suppress(ConnectionError):
            await self.reader.read()


Handler = Callable[[RawConnection], Awaitable[None]]


@dataclass(slots=True)
class RawServer:
    """The requests and connections that a server has received."""

    handler: Handler
    url: str = ""
    requests: list[RawRequest] = field(default_factory=list)
    connections: list[RawConnection] = field(default_factory=list)
    connection_arrived: asyncio.Event = field(default_factory=asyncio.Event)
    request_arrived: asyncio.Event = field(default_factory=asyncio.Event)
    part_is_sent: asyncio.Event = field(default_factory=asyncio.Event)
    """For handlers that send an answer in parts: set by the handler after the first part."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = RawConnection(self, len(self.connections), reader, writer)
        self.connections.append(connection)
        self.connection_arrived.set()
        try:
            await self.handler(connection)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client has closed the connection
        finally:
            writer.transport.abort()
            connection.ended.set()


@asynccontextmanager
async def raw_http_server(handler: Handler, tls: ssl.SSLContext | None = None) -> AsyncIterator[RawServer]:
    """Runs a server whose connections are handled by `handler`. Ends them all at the end."""
    raw_server = RawServer(handler)
    tasks: set[asyncio.Task[None]] = set()

    def on_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.ensure_future(raw_server.serve(reader, writer)))

    server = await asyncio.start_server(on_connection, "127.0.0.1", 0, ssl=tls, limit=2**24)
    raw_server.url = f"{'https' if tls else 'http'}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield raw_server
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)


def http_answer(content: object, *headers: str) -> bytes:
    """Returns the bytes of an answer with the status 200, this JSON, and these lines in its head."""
    body = orjson.dumps(content)
    lines = "".join(f"{line}\r\n" for line in headers)
    return f"HTTP/1.1 200 OK\r\n{lines}Content-Length: {len(body)}\r\n\r\n".encode() + body


def echo_answer(request: RawRequest) -> bytes:
    """Returns an answer that contains the parameters of the request, so that a call can recognise its own answer."""
    return http_answer({"Echo": request.parameters})


async def echo(connection: RawConnection) -> None:
    """Answers every request with its own parameters."""
    while True:
        connection.send(echo_answer(await connection.read_request()))
