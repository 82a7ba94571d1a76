"""`SignedRequest`: an HTTP request of an AWS client. Each byte of it can be changed after it was signed."""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from tests.iam.gate.server.raw_client import Caller, Reply, send_raw

MAX_SECONDS = 30
"""A gate that sends no response within this time hangs."""
NO_RESPONSE = "closed"
"""The outcome of a request after which the gate closes the connection without a response."""

_XML_CODE = re.compile(rb"<Code>(\w+)</Code>")


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedRequest:
    """Header names and values are bytes, so that they can be anything."""

    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes
    start_line: bytes = b"POST / HTTP/1.1"
    line_end: bytes = b"\r\n"
    sent_body: bytes | None = None
    """The body as it is sent, if it is not sent as it is."""

    def as_bytes(self) -> bytes:
        lines = [self.start_line, *(b"%s: %s" % header for header in self.headers), b"", b""]
        return self.line_end.join(lines) + (self.body if self.sent_body is None else self.sent_body)

    def header(self, name: bytes) -> bytes:
        """Returns the first value of a header, or nothing if another change has removed the header."""
        return next((value for key, value in self.headers if key.lower() == name), b"")

    def with_header(self, name: bytes, value: bytes) -> "SignedRequest":
        return replace(self, headers=tuple((key, value if key.lower() == name else old) for key, old in self.headers))

    def without_header(self, name: bytes) -> "SignedRequest":
        return replace(self, headers=tuple(header for header in self.headers if header[0].lower() != name))

    def with_headers(self, *headers: tuple[bytes, bytes], first: bool = False) -> "SignedRequest":
        return replace(self, headers=(*headers, *self.headers) if first else (*self.headers, *headers))


def dynamodb_request(caller: Caller, target: str, body: bytes) -> SignedRequest:
    headers = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": target}
    return signed_request(caller, headers, body)


def sts_request(caller: Caller, fields: list[tuple[str, str]]) -> SignedRequest:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    return signed_request(caller, headers, urlencode(fields).encode(), service="sts")


def signed_request(caller: Caller, headers: Mapping[str, str], body: bytes, service: str = "dynamodb") -> SignedRequest:
    signed_headers = [*caller.signed_headers(dict(headers), body, service=service), ("Content-Length", str(len(body)))]
    encoded = [(name.encode(), value.encode()) for name, value in signed_headers]
    return SignedRequest(headers=tuple(encoded), body=body)


async def send(url: str, request: SignedRequest) -> Reply:
    return await asyncio.wait_for(send_raw(url, request.as_bytes()), MAX_SECONDS)


def outcome(reply: Reply) -> str:
    """Returns "200", the name of an AWS error, or the status and the text of a response of the HTTP server."""
    if reply.status == 0:
        return NO_RESPONSE
    if reply.status == 200:
        return "200"
    if b"x-amz-json" in reply.head:
        return reply.error
    if code := _XML_CODE.search(reply.body):
        return code[1].decode()
    return f"{reply.status} {reply.body.decode(errors='replace').strip()}"
