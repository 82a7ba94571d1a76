"""The claims of a token with a valid signature must be right too."""

import pytest

from keyfence.auth.claims import CLOCK_SKEW_SECONDS, MAX_TOKEN_LIFETIME_SECONDS
from keyfence.auth.principal import Principal, Role
from keyfence.auth.token_verifier import TokenVerifier
from tests.fakes.identity_provider import IdentityProvider
from tests.service.auth.test_tokens import refusal

UserVerifier = TokenVerifier[Principal]


@pytest.mark.parametrize("claim", ["iss", "aud", "sub", "exp", "iat", "jti", "tenant", "role"])
async def test_a_token_without_a_required_claim_is_refused(
    verifier: UserVerifier, provider: IdentityProvider, claim: str
) -> None:
    assert await refusal(verifier, provider.token_without(claim))
    assert await refusal(verifier, provider.token(**{claim: None}))


@pytest.mark.parametrize("audience", ["keyfence", ["keyfence"]])
async def test_the_audience_may_be_a_text_or_a_list_of_one(
    verifier: UserVerifier, provider: IdentityProvider, audience: object
) -> None:
    assert (await verifier.verify(provider.token(aud=audience))).tenant == "acme"


@pytest.mark.parametrize(
    "audience",
    [
        "keyfence-admin",
        "Keyfence",
        "keyfence ",
        "",
        7,
        [],
        ["keyfence", "keyfence-admin"],
        ["keyfence", "billing"],
        ["keyfence", "keyfence"],
        ["billing"],
        [["keyfence"]],
        {"keyfence": 1},
        "keyfence,billing",
    ],
)
async def test_a_token_of_another_audience_or_of_several_is_refused(
    verifier: UserVerifier, provider: IdentityProvider, audience: object
) -> None:
    assert "audience" in await refusal(verifier, provider.token(aud=audience))


async def test_a_token_is_valid_until_it_expires_plus_the_clock_skew(
    verifier: UserVerifier, provider: IdentityProvider
) -> None:
    now = int(provider.clock.now)
    assert await verifier.verify(provider.token(exp=now - CLOCK_SKEW_SECONDS + 1))
    assert await refusal(verifier, provider.token(exp=now - CLOCK_SKEW_SECONDS)) == "the token has expired"
    assert await refusal(verifier, provider.token(exp=0)) == "the token has expired"


async def test_a_token_is_refused_before_its_not_before_time(
    verifier: UserVerifier, provider: IdentityProvider
) -> None:
    now = int(provider.clock.now)
    assert await verifier.verify(provider.token(nbf=now + CLOCK_SKEW_SECONDS, iat=now + CLOCK_SKEW_SECONDS))
    assert await refusal(verifier, provider.token(nbf=now + CLOCK_SKEW_SECONDS + 1)) == "the token is not valid yet"
    assert (
        await refusal(verifier, provider.token(iat=now + CLOCK_SKEW_SECONDS + 1))
        == "the token was issued in the future"
    )


async def test_a_token_that_lives_longer_than_a_stored_revocation_is_refused(
    verifier: UserVerifier, provider: IdentityProvider
) -> None:
    now = int(provider.clock.now)
    assert await verifier.verify(provider.token(iat=now - 100, exp=now - 100 + MAX_TOKEN_LIFETIME_SECONDS))
    refused = await refusal(verifier, provider.token(iat=now - 100, exp=now - 99 + MAX_TOKEN_LIFETIME_SECONDS))
    assert refused == f"the token lives longer than {MAX_TOKEN_LIFETIME_SECONDS} seconds"


@pytest.mark.parametrize("claim", ["exp", "iat", "nbf"])
@pytest.mark.parametrize("time", ["1900000000", True, [], {}, -1, 2**53, 10**30, 1e300, float("inf"), float("nan")])
async def test_a_malformed_time_is_refused(
    verifier: UserVerifier, provider: IdentityProvider, claim: str, time: object
) -> None:
    assert await refusal(verifier, provider.token(**{claim: time}))


async def test_a_time_with_a_fraction_is_accepted(verifier: UserVerifier, provider: IdentityProvider) -> None:
    now = provider.clock.now
    principal = await verifier.verify(provider.token(iat=now - 0.5, exp=now + 60.75))
    assert principal.expires_at == int(now) + 60


@pytest.mark.parametrize("claim", ["sub", "jti"])
@pytest.mark.parametrize("text", ["", 7, True, [], {}, "x" * 257, "a\nb", "a\x00b", "a\x7fb", "a\u202eb"])
async def test_a_subject_or_token_id_with_unsafe_characters_is_refused(
    verifier: UserVerifier, provider: IdentityProvider, claim: str, text: object
) -> None:
    assert claim in await refusal(verifier, provider.token(**{claim: text}))


async def test_a_subject_may_be_any_printable_text(verifier: UserVerifier, provider: IdentityProvider) -> None:
    for text in ("x" * 256, "auth0|5f7c8ec7c33c6c004bbafe82", "Zoë #1 %", "日本"):
        assert (await verifier.verify(provider.token(sub=text))).subject == text


@pytest.mark.parametrize(
    "tenant",
    [
        "Acme",
        "ACME",
        "acme#x",
        "acme#",
        "TENANT#acme",
        "",
        "a",
        "a" * 33,
        7,
        ["acme"],
        {},
        "acme\n",
        " acme",
        "-acme",
        "ácme",
    ],
)
async def test_a_malformed_tenant_id_is_refused(
    verifier: UserVerifier, provider: IdentityProvider, tenant: object
) -> None:
    assert await refusal(verifier, provider.token(tenant=tenant)) == "the token's tenant claim is not a tenant id"


@pytest.mark.parametrize(
    "role", ["member", "ROOT", "", 1, ["OWNER"], {"OWNER": 1}, "OWNER ADMIN", "covers", "__class__"]
)
async def test_an_unknown_role_is_refused(verifier: UserVerifier, provider: IdentityProvider, role: object) -> None:
    assert "role" in await refusal(verifier, provider.token(role=role))


@pytest.mark.parametrize("role", list(Role))
async def test_every_role_is_accepted(verifier: UserVerifier, provider: IdentityProvider, role: Role) -> None:
    assert (await verifier.verify(provider.token(role=role))).role is role


@pytest.mark.parametrize("scope", [None, ""])
async def test_a_token_may_have_no_scope(verifier: UserVerifier, provider: IdentityProvider, scope: str | None) -> None:
    assert (await verifier.verify(provider.token(scope=scope))).scopes == frozenset()


@pytest.mark.parametrize("scope", [["introspect"], 7, False, {}, " ", "a  b", "a\tb", "a\n", 'a"b', "a\\b", "é"])
async def test_a_malformed_scope_is_refused(verifier: UserVerifier, provider: IdentityProvider, scope: object) -> None:
    assert "scope" in await refusal(verifier, provider.token(scope=scope))
