"""A verifier, its sessions and one of them."""

import pytest

from keyfence_iam.credentials import Credentials
from keyfence_iam.gate.account.session import Sessions
from keyfence_iam.gate.sigv4 import Verifier

from .signing import Times, sessions


@pytest.fixture
def clock() -> Times:
    return Times()


@pytest.fixture
def open_sessions(clock: Times) -> Sessions:
    return sessions(clock)


@pytest.fixture
def verifier(open_sessions: Sessions) -> Verifier:
    return Verifier(open_sessions, region="us-east-1")


@pytest.fixture
def credentials(open_sessions: Sessions) -> Credentials:
    return open_sessions.mint("reader").credentials
