"""A request is rejected if a signed part was changed or if a header that services read was added."""

from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfence_iam.credentials import Credentials
from keyfence_iam.gate.http.messages import HttpRequest
from keyfence_iam.gate.sigv4 import SignatureVerifier
from keyfence_iam.gate.sigv4.signature_verifier import MISMATCH_MESSAGE
from tests.iam.gate.sigv4.signed_requests import (
    TARGET,
    signature_error,
    signed,
    with_authorization,
    with_header,
    without_header,
)
from tests.iam.gate.sigv4.test_accepted_requests import CREDENTIALS, VERIFIER


@given(st.binary(max_size=60), st.binary(max_size=60))
def test_a_changed_body_is_rejected(signed_body: bytes, sent_body: bytes) -> None:
    request = replace(signed(CREDENTIALS, body=signed_body), body=sent_body)
    if sent_body == signed_body:
        VERIFIER.verify(request, "dynamodb")
    else:
        assert signature_error(VERIFIER, request) == ("InvalidSignatureException", MISMATCH_MESSAGE)


@pytest.mark.parametrize(
    "change",
    [
        lambda request: replace(request, method="PUT"),
        lambda request: replace(request, path=b"/other"),
        lambda request: replace(request, query=b"a=b"),
        lambda request: with_header(request, b"x-amz-target", b"DynamoDB_20120810.DeleteTable"),
        lambda request: with_header(request, b"host", b"elsewhere"),
        lambda request: with_header(request, b"x-amz-date", b"20261116T120001Z"),
        lambda request: with_header(request, b"content-type", b"text/plain"),
        lambda request: without_header(request, b"content-type"),
        lambda request: with_authorization(request, lambda text: text[:-1] + ("0" if text[-1] != "0" else "1")),
        lambda request: with_authorization(request, lambda text: text[:-1]),
        lambda request: with_authorization(request, lambda text: text.replace("host;", "host;x-extra;")),
        lambda request: with_authorization(request, lambda text: text[:-64] + text[-64:].upper()),
    ],
)
def test_a_request_with_a_changed_signed_part_is_rejected(
    verifier: SignatureVerifier, credentials: Credentials, change: Callable[[HttpRequest], HttpRequest]
) -> None:
    request = signed(credentials)
    verifier.verify(request, "dynamodb")
    assert signature_error(verifier, change(request)) == ("InvalidSignatureException", MISMATCH_MESSAGE)


@pytest.mark.parametrize("content_hash", ["UNSIGNED-PAYLOAD", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "0" * 64])
def test_the_content_hash_header_is_not_trusted(
    verifier: SignatureVerifier, credentials: Credentials, content_hash: str
) -> None:
    request = signed(credentials, headers={**TARGET, "X-Amz-Content-SHA256": content_hash})
    assert signature_error(verifier, request) == ("InvalidSignatureException", MISMATCH_MESSAGE)


def test_a_body_that_matches_a_forged_content_hash_is_rejected(
    verifier: SignatureVerifier, credentials: Credentials
) -> None:
    """A signature over the hash of one body must not be valid for another body."""
    content_hash = {**TARGET, "X-Amz-Content-SHA256": sha256(b"first").hexdigest()}
    request = signed(credentials, body=b"first", headers=content_hash)
    verifier.verify(request, "dynamodb")
    assert signature_error(verifier, replace(request, body=b"second"))[1] == MISMATCH_MESSAGE


def test_host_must_be_signed(verifier: SignatureVerifier, credentials: Credentials) -> None:
    request = with_authorization(signed(credentials), lambda text: text.replace("host;", ""))
    expected = "'Host' or ':authority' must be a 'SignedHeader' in the AWS Authorization."
    assert signature_error(verifier, request) == ("InvalidSignatureException", expected)


@pytest.mark.parametrize("name", [b"x-amz-target", b"x-amz-security-token", b"x-amz-date"])
def test_every_amz_header_must_be_signed(verifier: SignatureVerifier, credentials: Credentials, name: bytes) -> None:
    header = name.decode()
    request = with_authorization(signed(credentials), lambda text: text.replace(f";{header}", ""))
    expected = f"'{header}' must be a 'SignedHeader' in the AWS Authorization."
    assert signature_error(verifier, request) == ("InvalidSignatureException", expected)


def test_an_added_amz_header_is_rejected(verifier: SignatureVerifier, credentials: Credentials) -> None:
    request = signed(credentials)
    added = replace(request, headers=[*request.headers, (b"x-amz-anything", b"1")])
    assert "'x-amz-anything' must be" in signature_error(verifier, added)[1]


@pytest.mark.parametrize("name", [b"host", b"x-amz-target", b"authorization", b"x-amz-date", b"x-amz-security-token"])
def test_a_repeated_header_that_may_occur_only_once_is_rejected(
    verifier: SignatureVerifier, credentials: Credentials, name: bytes
) -> None:
    request = signed(credentials)
    repeated = replace(request, headers=[*request.headers, (name, dict(request.headers)[name])])
    assert signature_error(verifier, repeated) == (
        "InvalidSignatureException",
        f"The request has more than one '{name.decode()}' header.",
    )
