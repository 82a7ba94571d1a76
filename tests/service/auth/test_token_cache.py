"""A verified token is cached, but not longer than it is valid."""

import pytest

from keyfence.auth.claims import CLOCK_SKEW_SECONDS, principal_from_claims
from keyfence.auth.issuer import Issuer
from keyfence.auth.jwks_refresh import FetchedKeys, RefreshPolicy
from keyfence.auth.principal import Principal
from keyfence.auth.token_verifier import RECHECK_SECONDS, TokenVerifier
from keyfence.errors import Throttled, Unauthenticated
from tests.fakes.clock import ManualClock
from tests.fakes.identity_provider import URL, IdentityProvider, jwk, private_key
from tests.fakes.jwks_source import ScriptedJwksSource
from tests.service.auth.test_tokens import refusal

POLICY = RefreshPolicy()


@pytest.fixture
def source(provider: IdentityProvider) -> ScriptedJwksSource:
    return ScriptedJwksSource(provider.jwks())


@pytest.fixture
def caching_verifier(source: ScriptedJwksSource, clock: ManualClock) -> TokenVerifier[Principal]:
    issuer = Issuer(url=URL, keys=FetchedKeys(source.fetch, clock=clock))
    return TokenVerifier(
        issuers=[issuer],
        audience="keyfence",
        caller_from_claims=principal_from_claims,
        clock=clock,
        max_cached_tokens=2,
    )


async def test_a_cached_token_is_not_verified_again(
    caching_verifier: TokenVerifier[Principal], provider: IdentityProvider
) -> None:
    token = provider.token()
    assert await caching_verifier.verify(token) is await caching_verifier.verify(token)


async def test_a_cached_token_is_refused_when_it_expires(
    caching_verifier: TokenVerifier[Principal], provider: IdentityProvider, clock: ManualClock
) -> None:
    token = provider.token(exp=int(clock.now) + 60)
    principal = await caching_verifier.verify(token)
    clock.advance(60 + CLOCK_SKEW_SECONDS - 1)
    assert await caching_verifier.verify(token) is principal
    clock.advance(1)
    assert await refusal(caching_verifier, token) == "the token has expired"


async def test_a_cached_token_is_verified_again_after_a_while(
    caching_verifier: TokenVerifier[Principal], provider: IdentityProvider, clock: ManualClock
) -> None:
    token = provider.token()
    principal = await caching_verifier.verify(token)
    clock.advance(RECHECK_SECONDS - 1)
    assert await caching_verifier.verify(token) is principal
    clock.advance(1)
    assert await caching_verifier.verify(token) is not principal


async def test_a_cached_token_is_refused_when_its_key_is_removed(
    caching_verifier: TokenVerifier[Principal],
    provider: IdentityProvider,
    source: ScriptedJwksSource,
    clock: ManualClock,
) -> None:
    token = provider.token()
    await caching_verifier.verify(token)
    rotated = IdentityProvider(clock, kid="k2", key_name="second")
    source.document = rotated.jwks()
    clock.advance(POLICY.min_interval_seconds)
    assert (await caching_verifier.verify(rotated.token())).tenant == "acme"
    assert "no key with this kid" in await refusal(caching_verifier, token)


async def test_both_keys_are_valid_while_a_rotation_overlaps(
    caching_verifier: TokenVerifier[Principal],
    provider: IdentityProvider,
    source: ScriptedJwksSource,
    clock: ManualClock,
) -> None:
    old, rotated = provider.token(), IdentityProvider(clock, kid="k2", key_name="second")
    principal = await caching_verifier.verify(old)
    source.document = {"keys": [*provider.jwks()["keys"], *rotated.jwks()["keys"]]}
    clock.advance(POLICY.min_interval_seconds)
    assert (await caching_verifier.verify(rotated.token())).tenant == "acme"
    assert await caching_verifier.verify(old) is principal


async def test_a_cached_token_is_refused_when_a_refresh_removes_its_key_without_a_request_of_a_new_key(
    caching_verifier: TokenVerifier[Principal],
    provider: IdentityProvider,
    source: ScriptedJwksSource,
    clock: ManualClock,
) -> None:
    token = provider.token()
    await caching_verifier.verify(token)
    source.document = {"keys": [jwk(private_key("ES256", "second"), "k2")]}
    clock.advance(POLICY.fresh_seconds)
    assert "no key with this kid" in await refusal(caching_verifier, token)


async def test_an_outage_beyond_the_limit_throttles_and_does_not_refuse_the_token(
    caching_verifier: TokenVerifier[Principal],
    provider: IdentityProvider,
    source: ScriptedJwksSource,
    clock: ManualClock,
) -> None:
    token = provider.token(exp=int(clock.now) + 2 * int(POLICY.usable_seconds))
    await caching_verifier.verify(token)
    source.is_down = True
    clock.advance(POLICY.usable_seconds - 1)
    assert (await caching_verifier.verify(token)).tenant == "acme"
    clock.advance(1)
    with pytest.raises(Throttled):
        await caching_verifier.verify(token)


async def test_a_clock_that_is_set_back_does_not_extend_a_token(
    caching_verifier: TokenVerifier[Principal], provider: IdentityProvider, clock: ManualClock
) -> None:
    token = provider.token()
    await caching_verifier.verify(token)
    clock.advance(-60)
    assert await refusal(caching_verifier, token) == "the token was issued in the future"


async def test_a_refused_token_is_not_cached(
    caching_verifier: TokenVerifier[Principal], provider: IdentityProvider
) -> None:
    token = provider.token(role="ROOT")
    for _ in range(3):
        with pytest.raises(Unauthenticated):
            await caching_verifier.verify(token)


async def test_a_full_cache_drops_the_least_recently_used_token(
    caching_verifier: TokenVerifier[Principal], provider: IdentityProvider
) -> None:
    first, second, third = (provider.token(jti=name) for name in ("t1", "t2", "t3"))
    cached, evicted = await caching_verifier.verify(first), await caching_verifier.verify(second)
    assert await caching_verifier.verify(first) is cached
    await caching_verifier.verify(third)
    assert await caching_verifier.verify(first) is cached
    assert await caching_verifier.verify(second) is not evicted
