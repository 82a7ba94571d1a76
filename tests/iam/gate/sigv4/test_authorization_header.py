"""An invalid Authorization header is rejected with AWS's message, before any secret is used."""

import re
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfence_iam.credentials import Credentials
from keyfence_iam.gate.sigv4 import SignatureVerifier
from tests.iam.gate.manual_time import ManualTime
from tests.iam.gate.sigv4.signed_requests import (
    NOW,
    received,
    signature_error,
    signed,
    with_authorization,
    with_header,
)
from tests.iam.gate.sigv4.test_accepted_requests import VERIFIER


@pytest.mark.parametrize("authorization", [None, b"", b"Bearer abc", b"AWS access:signature", b"Basic eDp5"])
def test_an_unsigned_request_is_missing_its_authentication_token(
    verifier: SignatureVerifier, authorization: bytes | None
) -> None:
    headers = [] if authorization is None else [(b"authorization", authorization)]
    expected = "Request is missing Authentication Token"
    assert signature_error(verifier, received(headers)) == ("MissingAuthenticationTokenException", expected)


def test_all_missing_parts_of_an_incomplete_header_are_reported(verifier: SignatureVerifier) -> None:
    code, message = signature_error(verifier, received([(b"authorization", b"AWS4-HMAC-SHA256 Signature=b")]))
    assert code == "IncompleteSignatureException"
    assert message == (
        "Authorization header requires 'Credential' parameter. "
        "Authorization header requires 'SignedHeaders' parameter. "
        "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. "
        "Authorization=AWS4-HMAC-SHA256 Signature=b"
    )


@pytest.mark.parametrize("date", [b"201", b"2026-11-16T12:00:00Z", b"20261316T120000Z", b"20261116T120000", b"soon"])
def test_a_date_in_another_format_is_rejected(
    verifier: SignatureVerifier, credentials: Credentials, date: bytes
) -> None:
    code, message = signature_error(verifier, with_header(signed(credentials), b"x-amz-date", date))
    assert code == "IncompleteSignatureException"
    assert message.startswith(f"Date must be in ISO-8601 'basic format'. Got '{date.decode()}'.")


def test_a_date_out_of_range_is_rejected(verifier: SignatureVerifier, credentials: Credentials) -> None:
    date = b"Fri, 31 Dec 9999 23:59:59 -2359"
    code, message = signature_error(verifier, with_header(signed(credentials), b"x-amz-date", date))
    assert code == "IncompleteSignatureException"
    assert message.startswith(f"Date must be in ISO-8601 'basic format'. Got '{date.decode()}'.")


def test_a_signature_older_than_a_quarter_of_an_hour_is_expired(
    verifier: SignatureVerifier, credentials: Credentials, clock: ManualTime
) -> None:
    request = signed(credentials)
    clock.advance(minutes=15, seconds=1)
    expected = "Signature expired: 20261116T120000Z is now earlier than 20261116T120001Z (20261116T121501Z - 15 min.)"
    assert signature_error(verifier, request) == ("InvalidSignatureException", expected)
    assert signature_error(verifier, signed(credentials, service="sts"), "sts") == ("SignatureDoesNotMatch", expected)


def test_a_signature_from_the_future_is_not_yet_current(
    verifier: SignatureVerifier, credentials: Credentials, clock: ManualTime
) -> None:
    request = signed(credentials, signed_at=NOW + timedelta(minutes=15, seconds=1))
    code, message = signature_error(verifier, request)
    assert code == "InvalidSignatureException"
    assert message == (
        "Signature not yet current: 20261116T121501Z is still later than 20261116T121500Z (20261116T120000Z + 15 min.)"
    )


@pytest.mark.parametrize(
    ("region", "service", "expected"),
    [
        ("eu-west-1", "dynamodb", "Credential should be scoped to a valid region. "),
        ("us-east-1", "s3", "Credential should be scoped to correct service: 'dynamodb'. "),
        (
            "eu-west-1",
            "sts",
            "Credential should be scoped to a valid region. "
            "Credential should be scoped to correct service: 'dynamodb'. ",
        ),
    ],
)
def test_a_signature_for_another_region_or_service_is_rejected(
    verifier: SignatureVerifier, credentials: Credentials, region: str, service: str, expected: str
) -> None:
    request = signed(credentials, region=region, service=service)
    assert signature_error(verifier, request) == ("InvalidSignatureException", expected)


def test_a_scope_with_another_day_or_terminator_is_rejected(
    verifier: SignatureVerifier, credentials: Credentials
) -> None:
    request = signed(credentials)
    other_day = with_authorization(request, lambda text: text.replace("/20261116/", "/20261115/"))
    other_terminator = with_authorization(request, lambda text: text.replace("aws4_request", "aws5_request"))
    assert "'20261115' != '20261116', from '20261116T120000Z'." in signature_error(verifier, other_day)[1]
    assert "valid terminator: 'aws4_request', not 'aws5_request'." in signature_error(verifier, other_terminator)[1]


@pytest.mark.parametrize("credential", ["a/b/c/d", "a", "a/b/c/d/e/f"])
def test_a_credential_without_five_parts_is_rejected(
    verifier: SignatureVerifier, credentials: Credentials, credential: str
) -> None:
    parameter = f"Credential={credential}"
    request = with_authorization(signed(credentials), lambda text: re.sub("Credential=[^,]*", parameter, text))
    code, message = signature_error(verifier, request)
    assert code == "IncompleteSignatureException"
    assert message.endswith(f"got '{credential}'")


def test_only_one_algorithm_is_supported(verifier: SignatureVerifier, credentials: Credentials) -> None:
    request = with_authorization(signed(credentials), lambda text: text.replace("HMAC-SHA256", "ECDSA-P256-SHA256"))
    code, message = signature_error(verifier, request)
    assert code == "IncompleteSignatureException"
    assert message.startswith("Unsupported AWS 'algorithm': 'AWS4-ECDSA-P256-SHA256'")


def test_presigned_requests_are_rejected(verifier: SignatureVerifier, credentials: Credentials) -> None:
    query = b"X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Signature=00"
    presigned = received([(b"host", b"gate")], query=query)
    assert signature_error(verifier, presigned)[0] == "IncompleteSignatureException"
    assert "does not support presigned requests" in signature_error(verifier, presigned)[1]
    assert signature_error(verifier, replace(signed(credentials), query=query))[1].startswith(
        "Found both 'X-Amz-Algorithm'"
    )


@given(st.binary(max_size=120), st.binary(max_size=40))
def test_no_header_raises_an_unexpected_exception(authorization: bytes, date: bytes) -> None:
    headers = [(b"authorization", b"AWS4-HMAC-SHA256 " + authorization), (b"x-amz-date", date)]
    assert signature_error(VERIFIER, received(headers))[0].endswith("Exception")
    assert signature_error(VERIFIER, received([(b"authorization", authorization)]))[0].endswith("Exception")
