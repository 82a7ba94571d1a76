"""A JWKS endpoint on 127.0.0.1 whose responses a test can change."""

import json
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Semaphore, Thread
from time import sleep


class JwksServer(ThreadingHTTPServer):
    """Uses TLS if it gets a context."""

    daemon_threads = False

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.tls = tls
        self.connections = 0
        self.raw: Iterator[bytes] | None = None
        self.status = 200
        self.body = b"{}"
        self.headers: dict[str, str] = {}
        self.hits: list[str] = []
        self.hit = Semaphore(0)
        self.pause = 0.0
        self.answers = Event()
        self.answers.set()

    def get_request(self) -> tuple[socket.socket, object]:
        sock, address = super().get_request()
        self.connections += 1
        if self.tls is None:
            return sock, address
        return self.tls.wrap_socket(sock, server_side=True, do_handshake_on_connect=False), address

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignores clients that disconnect early, since tests do that on purpose."""

    def publish(self, document: object) -> None:
        self.status, self.body = 200, json.dumps(document).encode()

    def url(self, path: str = "/jwks") -> str:
        return f"http://127.0.0.1:{self.server_port}{path}"


class _Handler(BaseHTTPRequestHandler):
    server: JwksServer

    def do_GET(self) -> None:
        self.server.hits.append(self.path)
        self.server.hit.release()
        self.server.answers.wait()
        if self.server.raw is not None:
            self._write_raw(self.server.raw)
            return
        self.send_response(self.server.status)
        for name, value in {"Content-Length": str(len(self.server.body)), **self.server.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        try:
            self._write()
        except OSError:
            self.close_connection = True

    def _write(self) -> None:
        """Writes the body in one piece, or byte by byte with a pause after each."""
        body = self.server.body
        for letter in (bytes([byte]) for byte in body) if self.server.pause else [body]:
            self.wfile.write(letter)
            sleep(self.server.pause)

    def _write_raw(self, parts: Iterator[bytes]) -> None:
        """Writes bytes that need not be HTTP, until the client disconnects."""
        self.close_connection = True
        for part in parts:
            self.wfile.write(part)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 the name is the base class's
        pass


@contextmanager
def running_jwks_server(tls: ssl.SSLContext | None = None) -> Iterator[JwksServer]:
    with JwksServer(tls) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.answers.set()
            server.shutdown()
            thread.join()
