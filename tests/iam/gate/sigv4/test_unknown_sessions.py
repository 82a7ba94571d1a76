"""Requests of unknown, expired and deleted sessions are rejected with the message of each service."""

from dataclasses import replace

import pytest

from keyfence_iam.credentials import Credentials
from keyfence_iam.gate.account.session import SessionIssuer
from keyfence_iam.gate.sigv4 import SignatureVerifier
from keyfence_iam.gate.sigv4.signature_verifier import MISMATCH_MESSAGE
from tests.iam.gate.manual_time import ManualTime
from tests.iam.gate.sigv4.signed_requests import NOW, account, session_issuer, signature_error, signed

INVALID_TOKEN = "The security token included in the request is invalid"


@pytest.mark.parametrize("access_key", ["AKIAIOSFODNN7EXAMPLE", "ASIAAAAAAAAAAAAAAAAA", "test", "asiaaaaaaaaaaaaaaaaa"])
def test_an_unknown_access_key_is_rejected(verifier: SignatureVerifier, access_key: str) -> None:
    request = signed(Credentials(access_key, "secret"))
    assert signature_error(verifier, request) == ("UnrecognizedClientException", f"{INVALID_TOKEN}.")


def test_an_access_key_without_its_token_is_rejected(verifier: SignatureVerifier, credentials: Credentials) -> None:
    request = signed(replace(credentials, token=None))
    assert signature_error(verifier, request) == ("UnrecognizedClientException", f"{INVALID_TOKEN}.")


def test_the_token_of_another_session_is_rejected(
    verifier: SignatureVerifier, credentials: Credentials, issuer: SessionIssuer
) -> None:
    for token in (issuer.issue_service_session("reader").credentials.token, "nonsense", "AAAA"):
        request = signed(replace(credentials, token=token))
        assert signature_error(verifier, request) == ("UnrecognizedClientException", INVALID_TOKEN)


def test_sts_has_its_own_message_for_the_token_of_another_session(
    verifier: SignatureVerifier, credentials: Credentials
) -> None:
    request = signed(replace(credentials, token="nonsense"), service="sts")
    assert signature_error(verifier, request, "sts") == ("InvalidClientTokenId", f"{INVALID_TOKEN}.")


def test_a_signature_with_a_wrong_secret_is_rejected(verifier: SignatureVerifier, credentials: Credentials) -> None:
    request = signed(replace(credentials, secret_key="0" * 40))
    assert signature_error(verifier, request) == ("InvalidSignatureException", MISMATCH_MESSAGE)


def test_sessions_of_another_gate_are_rejected(verifier: SignatureVerifier) -> None:
    other_credentials = session_issuer(ManualTime(NOW), key=b"x" * 32).issue_service_session("reader").credentials
    assert signature_error(verifier, signed(other_credentials))[0] == "UnrecognizedClientException"


def test_an_expired_session_is_rejected(
    verifier: SignatureVerifier, credentials: Credentials, clock: ManualTime
) -> None:
    clock.advance(seconds=3599)
    verifier.verify(signed(credentials, signed_at=clock.now), "dynamodb")
    clock.advance(seconds=1)
    expected = "The security token included in the request is expired"
    assert signature_error(verifier, signed(credentials, signed_at=clock.now)) == ("ExpiredTokenException", expected)
    sts_request = signed(credentials, signed_at=clock.now, service="sts")
    assert signature_error(verifier, sts_request, "sts") == ("ExpiredToken", expected)


def test_a_session_whose_role_was_deleted_is_rejected(
    verifier: SignatureVerifier, credentials: Credentials, issuer: SessionIssuer
) -> None:
    verifier.verify(signed(credentials), "dynamodb")
    issuer.replace_account(account("writer"))
    assert signature_error(verifier, signed(credentials))[0] == "UnrecognizedClientException"
