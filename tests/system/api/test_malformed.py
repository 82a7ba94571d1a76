"""Malformed HTTP that is sent as bytes to a running server never makes the server fail."""

import re
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx2
import pytest
from structlog.testing import capture_logs

from tests.service.http.bookshop_endpoint import TOKEN, bookshop_app
from tests.system.api.audit.http_server import serve

BODY = b'{"query": "{ __typename }"}'


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serve(bookshop_app()) as address:
        yield address


def request(*lines: bytes, body: bytes = b"", start: bytes = b"POST /graphql HTTP/1.1") -> bytes:
    valid_headers = (
        b"host: x",
        b"authorization: " + TOKEN.encode(),
        b"content-type: application/json",
        b"connection: close",
    )
    return b"\r\n".join((start, *valid_headers, *lines, b"", body))


def statuses(address: str, raw_request: bytes, *, hang_up: bool = False) -> list[int]:
    """Returns the statuses of all responses until the connection is closed. `hang_up` ends the request first."""
    url = urlsplit(address)
    with socket.create_connection((url.hostname or "", url.port or 0), timeout=10) as connection:
        connection.sendall(raw_request)
        if hang_up:
            connection.shutdown(socket.SHUT_WR)
        received = b"".join(iter(lambda: connection.recv(65_536), b""))
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d+)", received)]


def is_serving(address: str) -> bool:
    response = httpx2.post(f"{address}/graphql", json={"query": "{ __typename }"}, headers={"authorization": TOKEN})
    return bool(response.json() == {"data": {"__typename": "Query"}})


MALFORMED = {
    "no length and no body": request(),
    "length shorter than the body": request(b"content-length: 5", body=BODY),
    "length zero": request(b"content-length: 0", body=BODY),
    "length negative": request(b"content-length: -1", body=BODY),
    "length not a number": request(b"content-length: many", body=BODY),
    "two lengths": request(b"content-length: 5", b"content-length: 27", body=BODY),
    "length and chunks": request(b"content-length: 5", b"transfer-encoding: chunked", body=b"0\r\n\r\n"),
    "length too large": request(b"content-length: 99999999999", body=BODY),
    "chunk size not a number": request(b"transfer-encoding: chunked", body=b"zz\r\n{}\r\n0\r\n\r\n"),
    "unknown transfer coding": request(b"transfer-encoding: pigeon", body=BODY),
    "compressed": request(b"content-encoding: gzip", b"content-length: 3", body=b"\x1f\x8b\x08"),
    "header without a colon": request(b"nonsense", body=BODY),
    "header with NUL": request(b"x: a\x00b", b"content-length: 27", body=BODY),
    "header of other bytes": request(b"accept: \xff\xfe\x80", b"content-length: 27", body=BODY),
    "no request at all": b"\x16\x03\x01\x02\x00\x01\r\n\r\n",
    "unknown version": request(start=b"POST /graphql HTTP/9.9"),
    "unknown method": request(start=b"BREW /graphql HTTP/1.1"),
    "path not UTF-8": request(start=b"GET /graphql?query=%ff%fe HTTP/1.1"),
    "path with NUL": request(start=b"GET /gra%00phql HTTP/1.1"),
    "path of other bytes": request(start=b"GET /graphql\xff HTTP/1.1"),
    "path with escaped other bytes": request(start=b"GET /graphql%ff HTTP/1.1"),
    "asterisk": request(start=b"OPTIONS * HTTP/1.1"),
    "upgrade": request(b"connection: upgrade", b"upgrade: websocket", start=b"GET /graphql HTTP/1.1"),
}

UNFINISHED = {
    "nothing": b"",
    "only line feeds": b"\r\n" * 50,
    "headers cut off": b"POST /graphql HTTP/1.1\r\nhost: x\r\nauth",
    "length longer than the body": request(b"content-length: 1000", body=BODY),
    "chunk cut off": request(b"transfer-encoding: chunked", body=b"ff\r\n{"),
    "chunks without a last": request(b"transfer-encoding: chunked", body=b"1\r\n{\r\n" * 100),
}


@pytest.mark.parametrize("raw_request", MALFORMED.values(), ids=MALFORMED.keys())
def test_a_malformed_request_is_refused_and_the_server_still_works(address: str, raw_request: bytes) -> None:
    answers = statuses(address, raw_request)
    assert answers
    assert all(400 <= status < 500 for status in answers)
    assert is_serving(address)


@pytest.mark.parametrize("raw_request", UNFINISHED.values(), ids=UNFINISHED.keys())
def test_an_unfinished_request_is_no_failure_and_the_server_still_works(address: str, raw_request: bytes) -> None:
    with capture_logs() as logs:
        assert all(400 <= status < 500 for status in statuses(address, raw_request, hang_up=True))
        assert is_serving(address)
    assert "internal_error" not in {line["event"] for line in logs}


def test_a_valid_request_over_the_same_socket_is_served(address: str) -> None:
    assert statuses(address, request(b"content-length: 27", body=BODY)) == [200]


def test_a_body_that_is_too_large_gets_413(address: str) -> None:
    response = httpx2.post(
        f"{address}/graphql",
        content=b" " * 300_000,
        headers={"authorization": TOKEN, "content-type": "application/json"},
    )
    assert response.status_code == 413
    assert response.json()["errors"][0]["extensions"] == {"code": "BAD_USER_INPUT"}
