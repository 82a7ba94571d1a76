"""A client without a token cannot make `keyfence serve` hold memory, connections or the processor."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.stack import ServiceStack
from tests.system.api.production_environment import production_environment

pytestmark = pytest.mark.one_engine

HEALTHZ = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
METRICS = b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
MAX_PER_PEER = 200
START_SECONDS = 30.0
MEGABYTE = 1024 * 1024
ATTACKER, NEIGHBOUR = "127.0.0.2", "127.0.0.3"


@dataclass(frozen=True, slots=True)
class ServeProcess:
    """`keyfence serve` in a process of its own."""

    process: "subprocess.Popen[bytes]"
    port: int

    def connect(self, source: str) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=10, source_address=(source, 0))

    def exchange(self, source: str, request: bytes, end: bytes = b"") -> bytes:
        """Returns the response until `end`, or until the server closes the connection."""
        received = b""
        with self.connect(source) as connection:
            connection.sendall(request)
            while (not end or end not in received) and (part := connection.recv(65_536)):
                received += part
        return received

    def is_healthy(self, source: str = NEIGHBOUR) -> bool:
        return self.exchange(source, HEALTHZ, b"ok\n").startswith(b"HTTP/1.1 200")

    def resident_bytes(self) -> int:
        pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")


@pytest.fixture
def server(stack: ServiceStack) -> Iterator[ServeProcess]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    own = {"KEYFENCE_PORT": str(port), "KEYFENCE_MAX_CONNECTIONS_PER_PEER": str(MAX_PER_PEER)}
    environment = {**os.environ, **production_environment(stack), **own}
    process = subprocess.Popen([sys.executable, "-m", "keyfence", "serve"], env=environment)
    running = ServeProcess(process, port)
    try:
        _wait_until_healthy(running)
        yield running
    finally:
        process.terminate()
        process.wait()


def _wait_until_healthy(server: ServeProcess) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            assert server.is_healthy()
        except OSError:
            assert time.monotonic() < deadline, "keyfence serve did not start"
            time.sleep(0.1)
        else:
            return


def _send_until_closed(connection: socket.socket, part: bytes) -> int:
    sent = 0
    try:
        while sent < 64 * MEGABYTE:
            connection.sendall(part)
            sent += len(part)
    except (BrokenPipeError, ConnectionResetError):
        pass
    return sent


@pytest.mark.skipif(sys.platform != "linux", reason="/proc and other loopback addresses exist on Linux alone")
def test_hostile_connections_cost_little_and_leave_others_alone(server: ServeProcess) -> None:
    idle_bytes = server.resident_bytes()
    for start in (b"GET / HTTP/1.1\r\na: ", b"POST /graphql HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5;"):
        with server.connect(ATTACKER) as connection:
            connection.sendall(start)
            assert _send_until_closed(connection, b"x" * 65_536) < 8 * MEGABYTE
    with ExitStack() as opened:
        for _ in range(3_000):
            opened.enter_context(server.connect(ATTACKER))
        assert server.is_healthy()
        assert server.resident_bytes() - idle_bytes < 50 * MEGABYTE
    metrics = server.exchange(NEIGHBOUR, METRICS).decode()
    assert 'keyfence_closed_connections_total{limit="head_bytes"} 1' in metrics
    assert 'keyfence_closed_connections_total{limit="body_bytes"} 1' in metrics
    assert f'keyfence_closed_connections_total{{limit="peer"}} {3_000 - MAX_PER_PEER}' in metrics
