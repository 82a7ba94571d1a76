"""A clock, an identity provider and its verifiers for the tests of authentication."""

from collections.abc import Iterator

import pytest

from keyfence.auth.claims import operator_from_claims, principal_from_claims
from keyfence.auth.principal import Operator, Principal
from keyfence.auth.token_verifier import TokenVerifier
from tests.fakes.clock import ManualClock
from tests.fakes.identity_provider import IdentityProvider
from tests.fakes.jwks_server import JwksServer, running_jwks_server


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(1_800_000_000.0)


@pytest.fixture
def provider(clock: ManualClock) -> IdentityProvider:
    return IdentityProvider(clock)


@pytest.fixture
def verifier(provider: IdentityProvider, clock: ManualClock) -> TokenVerifier[Principal]:
    return TokenVerifier(
        issuers=[provider.issuer()], audience="keyfence", caller_from_claims=principal_from_claims, clock=clock
    )


@pytest.fixture
def operators(provider: IdentityProvider, clock: ManualClock) -> TokenVerifier[Operator]:
    return TokenVerifier(
        issuers=[provider.issuer()], audience="keyfence-admin", caller_from_claims=operator_from_claims, clock=clock
    )


@pytest.fixture
def jwks_server() -> Iterator[JwksServer]:
    with running_jwks_server() as server:
        yield server
