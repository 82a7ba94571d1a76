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
    """Answers every GET with `status`, `headers` and `body`, unless `documents` says otherwise. It uses TLS if it has a
    context."""

    daemon_threads = False

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.tls = tls
        self.connections = 0
        self.raw_chunks: Iterator[bytes] | None = None
        """Sent instead of an HTTP response, if not None."""
        self.status = 200
        self.body = b"{}"
        self.headers: dict[str, str] = {}
        self.documents: dict[str, object] = {}
        """JSON documents by their path. If there are any, every other path gets the status 404."""
        self.requested_paths: list[str] = []
        self.request_arrived = Semaphore(0)
        """Released once for each request."""
        self.pause_seconds = 0.0
        """The pause after each byte of the body. 0: the body is sent in one piece."""
        self.may_answer = Event()
        """Requests wait until the event is set."""
        self.may_answer.set()

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
        self.server.requested_paths.append(self.path)
        self.server.request_arrived.release()
        self.server.may_answer.wait()
        if self.server.documents and self.server.status != 503:
            self._select_document()
        if self.server.raw_chunks is not None:
            self._write_raw(self.server.raw_chunks)
            return
        self.send_response(self.server.status)
        for name, value in {"Content-Length": str(len(self.server.body)), **self.server.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        try:
            self._write_body()
        except OSError:
            self.close_connection = True

    def _select_document(self) -> None:
        document = self.server.documents.get(self.path)
        self.server.status = 404 if document is None else 200
        self.server.body = json.dumps(document).encode()

    def _write_body(self) -> None:
        body = self.server.body
        for chunk in (bytes([byte]) for byte in body) if self.server.pause_seconds else [body]:
            self.wfile.write(chunk)
            sleep(self.server.pause_seconds)

    def _write_raw(self, chunks: Iterator[bytes]) -> None:
        """Writes the chunks until the client disconnects. They need not be HTTP."""
        self.close_connection = True
        for chunk in chunks:
            self.wfile.write(chunk)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 the base class has this name
        pass


@contextmanager
def running_jwks_server(tls: ssl.SSLContext | None = None) -> Iterator[JwksServer]:
    with JwksServer(tls) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.may_answer.set()
            server.shutdown()
            thread.join()
