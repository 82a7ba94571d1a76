"""An engine that sends scripted responses and records the requests."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"


class ScriptedEngine:
    """Sends one response for each request. None closes the connection without one."""

    def __init__(self, answers: Callable[[bytes, bytes], bytes | None]) -> None:
        self.requests: list[tuple[bytes, bytes]] = []
        self.connections = 0
        self.left = asyncio.Event()
        self._answers = answers
        self._writers: list[asyncio.StreamWriter] = []

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.append(writer)
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                body = await reader.readexactly(_length(head))
                self.requests.append((head, body))
                answer = self._answers(head, body)
                if answer is None:
                    break
                writer.write(answer)
        except (asyncio.IncompleteReadError, ConnectionResetError):
            self.left.set()
        finally:
            writer.close()

    def hang_up(self) -> None:
        for writer in self._writers:
            writer.close()


def _length(head: bytes) -> int:
    line = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
    return int(line.partition(b":")[2])


@asynccontextmanager
async def scripted(
    answers: Callable[[bytes, bytes], bytes | None] = lambda *_: OK,
) -> AsyncIterator[tuple[ScriptedEngine, str]]:
    engine = ScriptedEngine(answers)
    server = await asyncio.start_server(engine.converse, "127.0.0.1", 0)
    try:
        yield engine, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        engine.hang_up()


def with_table(
    description: dict[str, object] | None, otherwise: bytes | None = OK
) -> Callable[[bytes, bytes], bytes | None]:
    """Returns the responses of an engine with one table or none; all other calls get the same response."""

    def answer(head: bytes, _: bytes) -> bytes | None:
        if b"DynamoDB_20120810.DescribeTable" not in head:
            return otherwise
        if description is None:
            return response(400, b'{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException"}')
        return response(200, json.dumps({"Table": description}).encode())

    return answer


def response(status: int, body: bytes) -> bytes:
    return b"HTTP/1.1 %d X\r\ncontent-length: %d\r\n\r\n%s" % (status, len(body), body)
