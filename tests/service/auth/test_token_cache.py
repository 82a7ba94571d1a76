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

PACE = RefreshPolicy()


@pytest.fixture
def source(provider: IdentityProvider) -> ScriptedJwksSource:
    return ScriptedJwksSource(provider.jwks())


@pytest.fixture
def fetching(source: ScriptedJwksSource, clock: ManualClock) -> TokenVerifier[Principal]:
    issuer = Issuer(url=URL, keys=FetchedKeys(source.fetch, clock=clock))
    return TokenVerifier(
        issuers=[issuer],
        audience="keyfence",
        caller_from_claims=principal_from_claims,
        clock=clock,
        max_cached_tokens=2,
    )


async def test_a_cached_token_is_not_verified_again(
    fetching: TokenVerifier[Principal], provider: IdentityProvider
) -> None:
    token = provider.token()
    assert await fetching.verify(token) is await fetching.verify(token)


async def test_a_cached_token_is_refused_when_it_expires(
    fetching: TokenVerifier[Principal], provider: IdentityProvider, clock: ManualClock
) -> None:
    token = provider.token(exp=int(clock.now) + 60)
    principal = await fetching.verify(token)
    clock.advance(60 + CLOCK_SKEW_SECONDS - 1)
    assert await fetching.verify(token) is principal
    clock.advance(1)
    assert await refusal(fetching, token) == "the token has expired"


async def test_a_cached_token_is_verified_again_after_a_while(
    fetching: TokenVerifier[Principal], provider: IdentityProvider, clock: ManualClock
) -> None:
    token = provider.token()
    principal = await fetching.verify(token)
    clock.advance(RECHECK_SECONDS - 1)
    assert await fetching.verify(token) is principal
    clock.advance(1)
    assert await fetching.verify(token) is not principal


async def test_a_cached_token_is_refused_when_its_key_is_removed(
    fetching: TokenVerifier[Principal], provider: IdentityProvider, source: ScriptedJwksSource, clock: ManualClock
) -> None:
    token = provider.token()
    await fetching.verify(token)
    rotated = IdentityProvider(clock, kid="k2", key_name="second")
    source.document = rotated.jwks()
    clock.advance(PACE.min_interval_seconds)
    assert (await fetching.verify(rotated.token())).tenant == "acme"
    assert "signing key" in await refusal(fetching, token)


async def test_both_keys_are_valid_while_a_rotation_overlaps(
    fetching: TokenVerifier[Principal], provider: IdentityProvider, source: ScriptedJwksSource, clock: ManualClock
) -> None:
    old, rotated = provider.token(), IdentityProvider(clock, kid="k2", key_name="second")
    principal = await fetching.verify(old)
    source.document = {"keys": [*provider.jwks()["keys"], *rotated.jwks()["keys"]]}
    clock.advance(PACE.min_interval_seconds)
    assert (await fetching.verify(rotated.token())).tenant == "acme"
    assert await fetching.verify(old) is principal


async def test_a_dropped_key_takes_effect_without_any_new_token(
    fetching: TokenVerifier[Principal], provider: IdentityProvider, source: ScriptedJwksSource, clock: ManualClock
) -> None:
    token = provider.token()
    await fetching.verify(token)
    source.document = {"keys": [jwk(private_key("ES256", "second"), "k2")]}
    clock.advance(PACE.fresh_seconds)
    assert "signing key" in await refusal(fetching, token)


async def test_an_outage_beyond_the_limit_throttles_and_does_not_refuse_the_token(
    fetching: TokenVerifier[Principal], provider: IdentityProvider, source: ScriptedJwksSource, clock: ManualClock
) -> None:
    token = provider.token(exp=int(clock.now) + 2 * int(PACE.usable_seconds))
    await fetching.verify(token)
    source.down = True
    clock.advance(PACE.usable_seconds - 1)
    assert (await fetching.verify(token)).tenant == "acme"
    clock.advance(1)
    with pytest.raises(Throttled):
        await fetching.verify(token)


async def test_a_clock_that_is_set_back_does_not_extend_a_token(
    fetching: TokenVerifier[Principal], provider: IdentityProvider, clock: ManualClock
) -> None:
    token = provider.token()
    await fetching.verify(token)
    clock.advance(-60)
    assert await refusal(fetching, token) == "the token was issued in the future"


async def test_a_refused_token_is_not_cached(fetching: TokenVerifier[Principal], provider: IdentityProvider) -> None:
    token = provider.token(role="ROOT")
    for _ in range(3):
        with pytest.raises(Unauthenticated):
            await fetching.verify(token)


async def test_a_full_cache_drops_the_least_recently_used_token(
    fetching: TokenVerifier[Principal], provider: IdentityProvider
) -> None:
    first, second, third = (provider.token(jti=name) for name in ("t1", "t2", "t3"))
    kept, evicted = await fetching.verify(first), await fetching.verify(second)
    assert await fetching.verify(first) is kept
    await fetching.verify(third)
    assert await fetching.verify(first) is kept
    assert await fetching.verify(second) is not evicted
