"""A verifier, its session issuer, and one session."""

import pytest

from keyfence_iam.credentials import Credentials
from keyfence_iam.gate.account.session import SessionIssuer
from keyfence_iam.gate.sigv4 import SignatureVerifier
from tests.iam.gate.sigv4.signed_requests import Times, sessions


@pytest.fixture
def clock() -> Times:
    return Times()


@pytest.fixture
def open_sessions(clock: Times) -> SessionIssuer:
    return sessions(clock)


@pytest.fixture
def verifier(open_sessions: SessionIssuer) -> SignatureVerifier:
    return SignatureVerifier(open_sessions, region="us-east-1")


@pytest.fixture
def credentials(open_sessions: SessionIssuer) -> Credentials:
    return open_sessions.issue_service_session("reader").credentials
