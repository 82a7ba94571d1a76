"""`ConnectionPool`: opens connections to one endpoint and uses them again."""

import asyncio
from collections.abc import AsyncGenerator

from keyfence.store.dynamodb.concurrency_limit import ConcurrencyLimit
from keyfence.store.dynamodb.endpoint import Endpoint
from keyfence.store.dynamodb.http_connection import (
    ConnectionClosedUnanswered,
    ConnectionFailed,
    HttpAnswer,
    HttpConnection,
)
from keyfence.store.dynamodb.proxy_tunnel import open_tunnel

MAX_CONNECTION_SECONDS = 300.0
"""An older connection is not used again, so that a process follows a change of DynamoDB's addresses."""


class ConnectionPool:
    """The connections of one event loop to one endpoint. All tenants share them. At most `max_connections` are open."""

    def __init__(self, endpoint: Endpoint, *, max_connections: int, connect_timeout_seconds: float) -> None:
        self._endpoint = endpoint
        self._connect_timeout_seconds = connect_timeout_seconds
        self._loop = asyncio.get_running_loop()
        self._limit = ConcurrencyLimit(max_connections)
        self._idle: list[HttpConnection] = []
        """The connection that was used last is at the end, and is used first."""
        self._open: set[HttpConnection] = set()
        self._shutdown_hook: AsyncGenerator[None, None] | None = None

    async def send(self, request: bytes, *, timeout_seconds: float, may_repeat: bool) -> HttpAnswer:
        """Sends a request and returns its answer. Raises ConnectionFailed if no complete answer arrives in time.

        A server may close an idle connection at the moment in which a request is sent on it. If `may_repeat` is true,
        such a request is sent a second time, on a new connection. Nothing else is repeated here. Both attempts together
        take no longer than the timeout and one connect."""
        async with self._limit:
            deadline = self._loop.time() + timeout_seconds
            if connection := self._take_idle():
                try:
                    return await self._exchange(connection, request, timeout_seconds)
                except ConnectionClosedUnanswered:
                    if not may_repeat:
                        raise
                timeout_seconds = deadline - self._loop.time()
            return await self._exchange(await self._connect(), request, timeout_seconds)

    def close(self) -> None:
        """Aborts all connections. Call it in the thread of the event loop."""
        for connection in tuple(self._open):
            connection.abort()

    async def _exchange(self, connection: HttpConnection, request: bytes, timeout_seconds: float) -> HttpAnswer:
        answer = await connection.exchange(request, timeout_seconds)
        if connection.is_open:
            self._idle.append(connection)
        return answer

    def _take_idle(self) -> HttpConnection | None:
        earliest_opened_at = self._loop.time() - MAX_CONNECTION_SECONDS
        while self._idle:
            connection = self._idle.pop()
            if connection.opened_at >= earliest_opened_at and connection.can_be_used():
                return connection
            connection.abort()
        return None

    async def _connect(self) -> HttpConnection:
        await self._close_at_shutdown()
        connection = HttpConnection(self._loop, self._forget)
        self._open.add(connection)
        try:
            async with asyncio.timeout(self._connect_timeout_seconds):
                await self._open_transport(connection)
        except BaseException as error:
            self._open.discard(connection)
            connection.abort()
            if isinstance(error, OSError):
                raise ConnectionFailed(_describe(error)) from error
            raise
        return connection

    async def _open_transport(self, connection: HttpConnection) -> None:
        endpoint, loop = self._endpoint, self._loop
        if endpoint.proxy is None or endpoint.tls is None:
            await loop.create_connection(lambda: connection, endpoint.host, endpoint.port, ssl=endpoint.tls)
            return
        tunnel = await open_tunnel(loop, endpoint, endpoint.proxy)
        try:
            transport = await loop.start_tls(tunnel, connection, endpoint.tls, server_hostname=endpoint.host)
        except BaseException:
            tunnel.abort()
            raise
        if transport is None:
            raise ConnectionResetError("the proxy closed the connection")
        connection.connection_made(transport)

    def _forget(self, connection: HttpConnection) -> None:
        """Removes a connection that was closed, by the server or by this process."""
        self._open.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)

    async def _close_at_shutdown(self) -> None:
        """Makes the event loop close the connections when it shuts down.

        An event loop that shuts down closes all asynchronous generators that have begun. So a command or a test leaves
        no open connection when it ends, even if nobody calls `close`."""
        if self._shutdown_hook is None:
            self._shutdown_hook = self._wait_for_shutdown()
            await anext(self._shutdown_hook)

    async def _wait_for_shutdown(self) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            self.close()


def _describe(error: OSError) -> str:
    if isinstance(error, TimeoutError):
        return "ConnectTimeout"
    return f"cannot connect: {error}"
