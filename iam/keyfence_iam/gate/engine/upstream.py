"""The engine behind the gate: a pool of connections over which allowed requests go out unchanged."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from keyfence_iam.gate.answer import Answer
from keyfence_iam.gate.engine.connection import Connection, EngineLost


class BadEngineUrl(ValueError):
    """A URL at which no engine can be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where the engine listens."""

    host: str
    port: int
    secure: bool = False

    @classmethod
    def of(cls, url: str) -> "Address":
        try:
            parts = urlsplit(url)
            port = parts.port or (443 if parts.scheme == "https" else 80)
        except ValueError as error:
            raise BadEngineUrl(f"{url!r} is not the URL of an engine: {error}") from error
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.path.strip("/") or parts.query:
            raise BadEngineUrl(f"{url!r} is not the URL of an engine: http://HOST:PORT is")
        return cls(host=parts.hostname, port=port, secure=parts.scheme == "https")

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Upstream:
    """Sends each request once: a request that may have reached the engine is never repeated here."""

    def __init__(
        self, url: str, *, connections: int = 64, connect_seconds: float = 5.0, answer_seconds: float = 60.0
    ) -> None:
        self.address = Address.of(url)
        self._connect_seconds, self._answer_seconds = connect_seconds, answer_seconds
        self._slots = asyncio.Semaphore(connections)
        self._idle: list[Connection] = []

    async def post(self, headers: Iterable[tuple[bytes, bytes]], body: bytes) -> Answer:
        """A length of our own: however the body came in, what goes out is exactly what was examined."""
        request = (self._head(headers, len(body)), body)
        async with self._slots:
            connection = self._reused() or await self._opened()
            answer = await connection.send(request, self._answer_seconds)
            if connection.usable:
                self._idle.append(connection)
            else:
                connection.close()
        return answer

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def _reused(self) -> Connection | None:
        while self._idle:
            if (connection := self._idle.pop()).usable:
                return connection
        return None

    async def _opened(self) -> Connection:
        loop, address = asyncio.get_running_loop(), self.address
        try:
            async with asyncio.timeout(self._connect_seconds):
                _, connection = await loop.create_connection(
                    Connection, address.host, address.port, ssl=address.secure or None
                )
        except (OSError, TimeoutError) as error:
            raise EngineLost(f"{address} cannot be reached: {error or 'timed out'}", sent=False) from error
        return connection

    def _head(self, headers: Iterable[tuple[bytes, bytes]], length: int) -> bytes:
        lines = [b"POST / HTTP/1.1\r\nhost: %s\r\ncontent-length: %d\r\n" % (str(self.address).encode(), length)]
        lines += [b"%s: %s\r\n" % header for header in headers]
        return b"".join((*lines, b"\r\n"))
