"""The one text that both who signs and who verifies make of a request."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from urllib.parse import quote, unquote_to_bytes

from keyfence_iam.gate.http.messages import Headers


def canonical_request(
    method: str, path: bytes, query: bytes, headers: Mapping[bytes, bytes], signed: Sequence[bytes], body: bytes
) -> bytes:
    """The body's hash is taken here, of the bytes that came: what a header says about them is not believed."""
    lines = [
        method.encode(),
        canonical_path(path),
        canonical_query(query),
        *[b"%s:%s" % (name, headers.get(name, b"")) for name in signed],
        b"",
        b";".join(signed),
        sha256(body).hexdigest().encode(),
    ]
    return b"\n".join(lines)


def canonical_headers(headers: Headers) -> dict[bytes, bytes]:
    """Repeated headers are joined by commas in the order in which they came, runs of blanks become one."""
    values: dict[bytes, bytes] = {}
    for name, value in headers:
        whole = b" ".join(value.split())
        values[name] = b"%s,%s" % (values[name], whole) if name in values else whole
    return values


def canonical_path(path: bytes) -> bytes:
    """Without dot segments and double slashes, and encoded once more than it came."""
    if path in {b"/", b""}:
        return b"/"
    kept: list[bytes] = []
    for segment in path.split(b"/"):
        if segment == b"..":
            del kept[-1:]
        elif segment not in {b"", b"."}:
            kept.append(quote(segment, safe="~").encode())
    closing = b"/" if kept and path.endswith(b"/") else b""
    return b"/" + b"/".join(kept) + closing


def canonical_query(query: bytes) -> bytes:
    if not query:
        return b""
    pairs = sorted(_encoded_pair(part) for part in query.split(b"&") if part)
    return b"&".join(b"%s=%s" % pair for pair in pairs)


def _encoded_pair(part: bytes) -> tuple[bytes, bytes]:
    name, _, value = part.partition(b"=")
    return _encoded(name), _encoded(value)


def _encoded(text: bytes) -> bytes:
    return quote(unquote_to_bytes(text), safe="-_.~").encode()
