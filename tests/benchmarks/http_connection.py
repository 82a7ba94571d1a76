"""A plain HTTP connection that sends prepared requests, so that the client uses little CPU time."""

import socket
import time
from io import BufferedReader

HOST = "127.0.0.1"


def free_port() -> int:
    with socket.create_server((HOST, 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def connect(port: int, timeout_seconds: float) -> socket.socket:
    """Connects to a server that may still be starting. Raises ConnectionRefusedError after the timeout."""
    deadline = time.monotonic() + timeout_seconds
    while True:
        try:
            connection = socket.create_connection((HOST, port))
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connection


def exchange(connection: socket.socket, reader: BufferedReader, request: bytes) -> None:
    """Sends a request and reads the response. Exits the benchmark unless the status is 200."""
    connection.sendall(request)
    if b" 200 " not in (status := reader.readline()):
        raise SystemExit(status + reader.read1(4096))
    length = 0
    while (line := reader.readline()) != b"\r\n":
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    reader.read(length)


def graphql_request(token: str, body: bytes) -> bytes:
    """Returns the bytes of a POST request to /graphql."""
    head = (
        f"POST /graphql HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body
