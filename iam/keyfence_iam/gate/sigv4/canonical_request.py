"""The canonical request of Signature Version 4: the text that the signer and the verifier build from a request."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from urllib.parse import quote, unquote_to_bytes

from keyfence_iam.gate.http.messages import Headers


def canonical_request(
    method: str, path: bytes, query: bytes, headers: Mapping[bytes, bytes], signed_headers: Sequence[bytes], body: bytes
) -> bytes:
    """Returns the canonical request.

    The hash of the body is computed here, because the header x-amz-content-sha256 could have the hash of another body.
    """
    lines = [
        method.encode(),
        canonical_path(path),
        canonical_query(query),
        *[b"%s:%s" % (name, headers.get(name, b"")) for name in signed_headers],
        b"",
        b";".join(signed_headers),
        sha256(body).hexdigest().encode(),
    ]
    return b"\n".join(lines)


def canonical_headers(headers: Headers) -> dict[bytes, bytes]:
    """Returns the value of each header.

    Values of repeated headers are joined with commas. White space inside a value is replaced by single blanks.
    """
    values: dict[bytes, bytes] = {}
    for name, value in headers:
        trimmed = b" ".join(value.split())
        values[name] = b"%s,%s" % (values[name], trimmed) if name in values else trimmed
    return values


def canonical_path(path: bytes) -> bytes:
    """Returns the path without dot segments and double slashes.

    Each segment is URL-encoded once more, although the path of a request is already URL-encoded.
    """
    if path in {b"/", b""}:
        return b"/"
    segments: list[bytes] = []
    for segment in path.split(b"/"):
        if segment == b"..":
            del segments[-1:]
        elif segment not in {b"", b"."}:
            segments.append(quote(segment, safe="~").encode())
    trailing_slash = b"/" if segments and path.endswith(b"/") else b""
    return b"/" + b"/".join(segments) + trailing_slash


def canonical_query(query: bytes) -> bytes:
    if not query:
        return b""
    pairs = sorted(_url_encoded_pair(part) for part in query.split(b"&") if part)
    return b"&".join(b"%s=%s" % pair for pair in pairs)


def _url_encoded_pair(part: bytes) -> tuple[bytes, bytes]:
    name, _, value = part.partition(b"=")
    return _url_encoded(name), _url_encoded(value)


def _url_encoded(text: bytes) -> bytes:
    return quote(unquote_to_bytes(text), safe="-_.~").encode()
