"""The requests of AWS's published test suite have their published signatures."""

import hmac
from hashlib import sha256

import pytest

from keyfence_iam.gate.sigv4.canonical_request import canonical_headers, canonical_request
from keyfence_iam.gate.sigv4.signature_verifier import signing_key

SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
TIMESTAMP, SCOPE = "20150830T123600Z", "20150830/us-east-1/service/aws4_request"
COMMON = [(b"host", b"example.amazonaws.com"), (b"x-amz-date", TIMESTAMP.encode())]
TOKEN = b"6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267"
UNRESERVED = b"/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

VECTORS = {
    "get-vanilla": (b"/", [], "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
    "get-unreserved": (UNRESERVED, [], "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"),
    "get-slashes": (b"//example//", [], "9a624bd73a37c9a373b5312afbebe7a714a789de108f0bdfe846570885f57e84"),
    "get-vanilla-query-order-key-case": (
        b"/?Param2=value2&Param1=value1",
        [],
        "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
    ),
    "get-vanilla-query-order-value": (
        b"/?Param1=value2&Param1=value1",
        [],
        "5772eed61e12b33fae39ee5e7012498b51d56abc0abb7c60486157bd471c4694",
    ),
    "get-vanilla-utf8-query": (
        "/?\u1234=bar".encode(),
        [],
        "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04",
    ),
    "get-header-value-order": (
        b"/",
        [(b"my-header1", value) for value in (b"value4", b"value1", b"value3", b"value2")],
        "08c7e5a9acfcfeb3ab6b2185e75ce8b1deb5e634ec47601a50643f830c755c01",
    ),
    "get-header-key-duplicate": (
        b"/",
        [(b"my-header1", value) for value in (b"value2", b"value2", b"value1")],
        "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea",
    ),
    "get-header-value-trim": (
        b"/",
        [(b"my-header1", b" value1"), (b"my-header2", b'"a   b   c"')],
        "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736",
    ),
    "get-vanilla-with-session-token": (
        b"/",
        [(b"x-amz-security-token", TOKEN)],
        "07ec1639c89043aa0e3e2de82b96708f198cceab042d4a97044c66dd9f74e7f8",
    ),
}


def signature(method: str, target: bytes, headers: list[tuple[bytes, bytes]], body: bytes = b"") -> str:
    path, _, query = target.partition(b"?")
    values = canonical_headers([*COMMON, *headers])
    canonical = canonical_request(method, path, query, values, sorted(values), body)
    string_to_sign = f"AWS4-HMAC-SHA256\n{TIMESTAMP}\n{SCOPE}\n{sha256(canonical).hexdigest()}"
    return hmac.digest(signing_key(SECRET, "20150830", "us-east-1", "service"), string_to_sign.encode(), "sha256").hex()


@pytest.mark.parametrize(("target", "headers", "expected"), VECTORS.values(), ids=list(VECTORS))
def test_a_published_request_has_its_published_signature(
    target: bytes, headers: list[tuple[bytes, bytes]], expected: str
) -> None:
    assert signature("GET", target, headers) == expected


def test_a_published_form_has_its_published_signature() -> None:
    content_type = (b"content-type", b"application/x-www-form-urlencoded")
    assert signature("POST", b"/", [content_type], b"Param1=value1") == (
        "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a"
    )
