"""A verifier, its session issuer, and one session."""

import pytest

from keyfence_iam.credentials import Credentials
from keyfence_iam.gate.account.session import SessionIssuer
from keyfence_iam.gate.sigv4 import SignatureVerifier
from tests.iam.gate.manual_time import ManualTime
from tests.iam.gate.sigv4.signed_requests import NOW, session_issuer


@pytest.fixture
def clock() -> ManualTime:
    return ManualTime(NOW)


@pytest.fixture
def issuer(clock: ManualTime) -> SessionIssuer:
    return session_issuer(clock)


@pytest.fixture
def verifier(issuer: SessionIssuer) -> SignatureVerifier:
    return SignatureVerifier(issuer, region="us-east-1")


@pytest.fixture
def credentials(issuer: SessionIssuer) -> Credentials:
    return issuer.issue_service_session("reader").credentials
