"""An engine that sends scripted responses and records the requests."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"


class ScriptedEngine:
    """Answers each request with the result of a function. None closes the connection without a response."""

    def __init__(self, respond: Callable[[bytes, bytes], bytes | None]) -> None:
        self.requests: list[tuple[bytes, bytes]] = []
        self.connections = 0
        self.client_disconnected = asyncio.Event()
        self._respond = respond
        self._writers: list[asyncio.StreamWriter] = []

    async def serve_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.append(writer)
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                body = await reader.readexactly(_content_length(head))
                self.requests.append((head, body))
                answer = self._respond(head, body)
                if answer is None:
                    break
                writer.write(answer)
        except (asyncio.IncompleteReadError, ConnectionResetError):
            self.client_disconnected.set()
        finally:
            writer.close()

    def close_connections(self) -> None:
        for writer in self._writers:
            writer.close()


def _content_length(head: bytes) -> int:
    line = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
    return int(line.partition(b":")[2])


@asynccontextmanager
async def start_engine(
    respond: Callable[[bytes, bytes], bytes | None] = lambda *_: OK,
) -> AsyncIterator[tuple[ScriptedEngine, str]]:
    engine = ScriptedEngine(respond)
    server = await asyncio.start_server(engine.serve_connection, "127.0.0.1", 0)
    try:
        yield engine, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        engine.close_connections()


def table_responses(
    description: dict[str, object] | None, other_response: bytes | None = OK
) -> Callable[[bytes, bytes], bytes | None]:
    """Returns a function that answers DescribeTable for one table, and all other calls with `other_response`.

    If `description` is None, the table does not exist.
    """

    def respond(head: bytes, _: bytes) -> bytes | None:
        if b"DynamoDB_20120810.DescribeTable" not in head:
            return other_response
        if description is None:
            return response(400, b'{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException"}')
        return response(200, json.dumps({"Table": description}).encode())

    return respond


def response(status: int, body: bytes) -> bytes:
    return b"HTTP/1.1 %d X\r\ncontent-length: %d\r\n\r\n%s" % (status, len(body), body)
