"""`open_tunnel`: opens a TCP connection to an endpoint through an HTTP proxy, by the method CONNECT."""

import asyncio

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from keyfence.store.dynamodb.endpoint import Endpoint, Proxy


async def open_tunnel(loop: asyncio.AbstractEventLoop, endpoint: Endpoint, proxy: Proxy) -> asyncio.Transport:
    """Returns a transport whose bytes the proxy forwards to the endpoint. Raises OSError if the proxy refuses."""
    answer = _ConnectAnswer(loop)
    transport, _ = await loop.create_connection(
        lambda: answer, proxy.host, proxy.port, ssl=endpoint.tls if proxy.uses_tls else None
    )
    try:
        transport.write(_connect_request(endpoint, proxy))
        await answer.arrived
        answer.check()
    except BaseException:
        transport.abort()
        raise
    return transport


def _connect_request(endpoint: Endpoint, proxy: Proxy) -> bytes:
    host = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
    authority = f"{host}:{endpoint.port}"
    authorization = f"Proxy-Authorization: {proxy.authorization}\r\n" if proxy.authorization else ""
    return f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n{authorization}\r\n".encode()


class _ConnectAnswer(asyncio.Protocol):
    """Reads the head of the proxy's answer. After an answer with the status 200, all further bytes come from the
    endpoint. The endpoint sends no bytes before TLS begins."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.arrived: asyncio.Future[None] = loop.create_future()
        self.status = 0
        """The status of the answer, or 0 if the answer is not HTTP, or if bytes follow its head."""
        self._parser = HttpResponseParser(self)

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade):
            self.status = 0
            self._end()
        if self.status:
            self._end()

    def connection_lost(self, _: Exception | None) -> None:
        self._end()

    def check(self) -> None:
        """Raises OSError if the proxy has not opened the tunnel."""
        if self.status != 200:
            raise OSError(f"the proxy answered CONNECT with {self.status or 'something else than HTTP'}")

    def _end(self) -> None:
        if not self.arrived.done():
            self.arrived.set_result(None)

    def on_headers_complete(self) -> None:
        self.status = self._parser.get_status_code()

    def on_body(self, _: bytes) -> None:
        if self.status == 200:
            raise ValueError("bytes after the head")
