"""Changes of a signed request: its body, each header, the Authorization header, and the framing of HTTP."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from tests.isolation.fuzz.signed_request import SignedRequest

Change = Callable[[SignedRequest], SignedRequest]


@dataclass(frozen=True, slots=True)
class SignatureMutation:
    """A change of a request after it was signed."""

    name: str
    change: Change
    changes_length: bool
    """Whether the gate can find another end of the body. Two of these changes can make the gate wait for more bytes."""

    def __str__(self) -> str:
        return self.name


def signature_mutations(
    request: SignedRequest, foreign_body: bytes, foreign_token: bytes
) -> Iterator[SignatureMutation]:
    """Yields all changes that make another request of this one. The foreign values belong to a neighbour."""
    changes_of_length = {**_body_changes(foreign_body), **_framing_changes(), **_header_changes(b"content-length")}
    changes: dict[str, Change] = {
        **changes_of_length,
        **_start_line_changes(),
        **_added_headers(),
        **{f"authorization: {name}": _edit(b"authorization", edit) for name, edit in AUTHORIZATION_EDITS.items()},
        **{f"x-amz-date {value!r}": _value(b"x-amz-date", value) for value in DATES},
        "token of a neighbour": _value(b"x-amz-security-token", foreign_token),
        "token twice in one value": _edit(b"x-amz-security-token", lambda token: token + b"," + token),
        "headers reversed": lambda signed: replace(signed, headers=signed.headers[::-1]),
        "line ends without CR": lambda signed: replace(signed, line_end=b"\n"),
    }
    for header, _ in request.headers:
        if header.lower() != b"content-length":
            changes |= {**_header_changes(header.lower()), **_value_changes(header.lower())}
    for name, change in changes.items():
        if change(request) != request:
            yield SignatureMutation(name, change, name in changes_of_length)


def _value(name: bytes, value: bytes) -> Change:
    return lambda request: request.with_header(name, value)


def _edit(name: bytes, edit: Callable[[bytes], bytes]) -> Change:
    return lambda request: request.with_header(name, edit(request.header(name)))


def _add(*headers: tuple[bytes, bytes], first: bool = False) -> Change:
    return lambda request: request.with_headers(*headers, first=first)


def _header_changes(name: bytes) -> Mapping[str, Change]:
    """Returns changes that are tried with every header of the request."""
    title = name.decode()
    return {
        f"{title} missing": lambda request: request.without_header(name),
        f"{title} empty": _value(name, b""),
        f"{title} with blanks around it": _edit(name, lambda value: b"  " + value + b" \t"),
        f"{title} with UTF-8": _edit(name, lambda value: value + "é😀".encode()),
        f"{title} with a byte of latin-1": _edit(name, lambda value: value + b"\xff"),
        f"{title} with NUL": _edit(name, lambda value: value + b"\x00"),
        f"{title} with a line end": _edit(name, lambda value: value + b"\r\n folded"),
        f"{title} in upper case": lambda request: _renamed(request, name, name.upper()),
        f"{title} with a blank before the colon": lambda request: _renamed(request, name, name + b" "),
        f"{title} twice": lambda request: request.with_headers((name, request.header(name))),
        f"{title} twice, another value first": _add((name, b"other"), first=True),
        f"{title} twice, another value last": _add((name, b"other")),
    }


def _value_changes(name: bytes) -> Mapping[str, Change]:
    title = name.decode()
    return {
        f"{title} changed": _edit(name, lambda value: value[:-1] + (b"0" if value[-1:] != b"0" else b"1")),
        f"{title} longer": _edit(name, lambda value: value + b"0"),
    }


def _renamed(request: SignedRequest, name: bytes, new_name: bytes) -> SignedRequest:
    headers = tuple((new_name if key.lower() == name else key, value) for key, value in request.headers)
    return replace(request, headers=headers)


def _added_headers() -> Mapping[str, Change]:
    headers = (
        (b"x-note", b"1"), (b"x-amz-note", b"1"), (b"X-Amz-Content-SHA256", b"UNSIGNED-PAYLOAD"), (b"date", b"now"),
        (b"content-encoding", b"gzip"), (b"connection", b"close"), (b"connection", b"x-amz-target"),
        (b"upgrade", b"h2c"),
        (b"x-http-method-override", b"GET"), (b"x-forwarded-for", b"10.0.0.1"), (b"expect", b"100-continue"),
        (b"x-amzn-trace-id", b"Root=1"), (b"", b"empty name"), (b"\xc3\xa9", b"1"), (b"x-long", b"x" * 100_000),
    )  # fmt: skip
    many = tuple((b"x-%d" % number, b"1") for number in range(500))
    changes = {f"added {name!r}: {value[:20]!r}": _add((name, value)) for name, value in headers}
    return {**changes, "500 added headers": _add(*many)}


def _body_changes(foreign_body: bytes) -> Mapping[str, Change]:
    def other_body(change: Callable[[bytes], bytes]) -> Change:
        def apply(request: SignedRequest) -> SignedRequest:
            body = change(request.body)
            return replace(request, body=body).with_header(b"content-length", b"%d" % len(body))

        return apply

    return {
        "body of a neighbour": other_body(lambda _: foreign_body),
        "body empty": other_body(lambda _: b""),
        "body with a blank": other_body(lambda body: body + b" "),
        "body twice": other_body(lambda body: body * 2),
        "body with another byte": other_body(lambda body: body[:-2] + b"\xff" + body[-1:]),
        "body of two megabytes": other_body(lambda _: b"x" * 2_000_000),
    }


def _start_line_changes() -> Mapping[str, Change]:
    lines = (
        b"PUT / HTTP/1.1", b"DELETE / HTTP/1.1", b"post / HTTP/1.1", b"POST // HTTP/1.1",
        b"POST /. HTTP/1.1", b"POST /%2e HTTP/1.1", b"POST /? HTTP/1.1", b"POST /?a=b HTTP/1.1", b"POST /x HTTP/1.1",
        b"POST http://127.0.0.1/ HTTP/1.1", b"POST / HTTP/1.0", b"POST / HTTP/2.0", b"POST /\xff HTTP/1.1", b"POST",
        b"POST /?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Signature=0 HTTP/1.1", b"GET /traffic HTTP/1.1", b"\x00",
        b"POST /?X-Amz-Security-Token=x HTTP/1.1", b"OPTIONS * HTTP/1.1", b"CONNECT x:1 HTTP/1.1",
    )  # fmt: skip
    return {f"start line {line!r}": _with_start_line(line) for line in lines}


def _with_start_line(line: bytes) -> Change:
    return lambda request: replace(request, start_line=line)


def _chunks(body: bytes) -> bytes:
    half = len(body) // 2
    parts = (body[:half], body[half:], b"")
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)


def _framing_changes() -> Mapping[str, Change]:
    chunked = (b"transfer-encoding", b"chunked")

    def in_chunks(*headers: tuple[bytes, bytes], keep_length: bool = False) -> Change:
        def apply(request: SignedRequest) -> SignedRequest:
            base = request if keep_length else request.without_header(b"content-length")
            return replace(base.with_headers(*headers), sent_body=_chunks(request.body))

        return apply

    return {
        "chunks": in_chunks(chunked),
        "chunks and a length": in_chunks(chunked, keep_length=True),
        "chunks twice": in_chunks(chunked, chunked),
        "chunks, then identity": in_chunks((b"transfer-encoding", b"chunked, identity")),
        "chunks after a tab": in_chunks((b"transfer-encoding", b"\tchunked")),
        "unknown encoding": in_chunks((b"transfer-encoding", b"xchunked")),
        "header of chunks, but no chunks": lambda request: request.with_headers(chunked).without_header(
            b"content-length"
        ),
        "length with a sign": _edit(b"content-length", lambda value: b"+" + value),
        "length in hexadecimal": _value(b"content-length", b"0x10"),
        "negative length": _value(b"content-length", b"-1"),
        "huge length": _value(b"content-length", b"9" * 40),
        "shorter length": _value(b"content-length", b"5"),
        "a second request in the body": lambda request: replace(
            request, sent_body=request.body + b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n"
        ),
    }


def _replaced(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    return lambda value: value.replace(old, new)


AUTHORIZATION_EDITS: Mapping[str, Callable[[bytes], bytes]] = {
    "host not signed": _replaced(b"host;", b""),
    "target not signed": _replaced(b";x-amz-target", b""),
    "token not signed": _replaced(b";x-amz-security-token", b""),
    "date not signed": _replaced(b";x-amz-date", b""),
    "content type not signed": _replaced(b"content-type;", b""),
    "another header signed": _replaced(b"host;", b"host;x-other;"),
    "host signed twice": _replaced(b"host;", b"host;host;"),
    "signed headers in upper case": _replaced(b"host;", b"HOST;"),
    "signed headers in another order": _replaced(b"content-type;host;", b"host;content-type;"),
    "no signed headers": lambda value: value.partition(b"SignedHeaders")[0] + b"SignedHeaders=, " + value[-74:],
    "other access key": _replaced(b"Credential=ASIA", b"Credential=AKIA"),
    "other region": _replaced(b"/us-east-1/", b"/eu-west-1/"),
    "no region": _replaced(b"/us-east-1/", b"//"),
    "service sts": _replaced(b"/dynamodb/", b"/sts/"),
    "service dynamodb": _replaced(b"/sts/", b"/dynamodb/"),
    "other terminator": _replaced(b"aws4_request", b"aws5_request"),
    "six parts of a scope": _replaced(b"aws4_request", b"aws4_request/x"),
    "other day": lambda value: value.replace(b"/20", b"/19", 1),
    "signature in upper case": lambda value: value[:-64] + value[-64:].upper(),
    "signature shorter": lambda value: value[:-1],
    "signature longer": lambda value: value + b"0",
    "signature of zeros": lambda value: value[:-64] + b"0" * 64,
    "signature of one letter of latin-1": lambda value: value[:-64] + b"\xe9" * 64,
    "no signature": lambda value: value[:-64],
    "signature twice": lambda value: value + b", Signature=" + b"0" * 64,
    "a wrong signature first": lambda value: value.replace(b"Signature=", b"Signature=0, Signature=", 1),
    "another algorithm": _replaced(b"AWS4-HMAC-SHA256", b"AWS4-ECDSA-P256-SHA256"),
    "an algorithm in lower case": _replaced(b"AWS4-HMAC-SHA256", b"aws4-hmac-sha256"),
    "no blanks": _replaced(b", ", b","),
    "many blanks": _replaced(b", ", b" ,   "),
    "only the algorithm": lambda value: value.partition(b" ")[0],
    "basic": lambda _: b"Basic dXNlcjpwYXNz",
    "bearer": lambda _: b"Bearer x",
}
DATES = (
    b"20200101T000000Z", b"20991231T235959Z", b"now", b"Mon, 16 Nov 2026 12:00:00 GMT", b"20261116T120000",
    b"00000000T000000Z", b"99991399T999999Z", b"Mon, 99 Nov 99999 99:99:99 +9999", b"2026-11-16T12:00:00Z", b"\xff",
)  # fmt: skip
