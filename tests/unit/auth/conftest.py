"""A clock, an identity provider and its verifiers for the tests of authentication."""

from collections.abc import Iterator

import pytest

from keyfence.auth.principal import Operator, Principal
from keyfence.auth.token import operator_from, principal_from
from keyfence.auth.verifier import TokenVerifier

from .clock import FakeClock
from .identity_provider import IdentityProvider
from .jwks_server import JwksServer, serving


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def provider(clock: FakeClock) -> IdentityProvider:
    return IdentityProvider(clock)


@pytest.fixture
def verifier(provider: IdentityProvider, clock: FakeClock) -> TokenVerifier[Principal]:
    return TokenVerifier(issuers=[provider.issuer()], audience="keyfence", admit=principal_from, clock=clock)


@pytest.fixture
def operators(provider: IdentityProvider, clock: FakeClock) -> TokenVerifier[Operator]:
    return TokenVerifier(issuers=[provider.issuer()], audience="keyfence-admin", admit=operator_from, clock=clock)


@pytest.fixture
def jwks_server() -> Iterator[JwksServer]:
    with serving() as server:
        yield server
