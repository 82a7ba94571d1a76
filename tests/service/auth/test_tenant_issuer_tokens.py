"""A token of a tenant's issuer is accepted for that tenant only, and only as long as its key exists."""

import pytest

from keyfence.auth.claims import operator_from_claims, principal_from_claims
from keyfence.auth.issuer import Issuer
from keyfence.auth.key_set import VerificationKey
from keyfence.auth.principal import Principal
from keyfence.auth.tenant_issuer_cache import MAX_AGE_SECONDS, TenantIssuerCache
from keyfence.auth.token_verifier import RECHECK_SECONDS, TokenVerifier
from keyfence.errors import Internal, Unauthenticated
from keyfence_iam.token_bucket import call_budget
from tests.fakes.clock import ManualClock
from tests.fakes.identity_provider import IdentityProvider
from tests.fakes.in_memory_issuers import InMemoryIssuers, ManualSleep, fail_to_fetch

A1, A10 = "https://id.example/a1", "https://id.example/a10"


@pytest.fixture
def a1(clock: ManualClock) -> IdentityProvider:
    return IdentityProvider(clock, url=A1, key_name="a1")


@pytest.fixture
def a10(clock: ManualClock) -> IdentityProvider:
    return IdentityProvider(clock, url=A10, key_name="a10")


@pytest.fixture
def stored_issuers(a1: IdentityProvider, a10: IdentityProvider) -> InMemoryIssuers:
    stored_issuers = InMemoryIssuers()
    stored_issuers.store(A1, "a1", a1.jwks())
    stored_issuers.store(A10, "a10", a10.jwks())
    return stored_issuers


@pytest.fixture
def issuer_cache(stored_issuers: InMemoryIssuers, clock: ManualClock) -> TenantIssuerCache:
    return TenantIssuerCache(
        stored_issuers.find_record, fail_to_fetch, call_budget(1e9), clock=clock, sleep=ManualSleep(clock)
    )


@pytest.fixture
def verifier(
    issuer_cache: TenantIssuerCache, provider: IdentityProvider, clock: ManualClock
) -> TokenVerifier[Principal]:
    return new_verifier(issuer_cache, provider.issuer(), clock)


def new_verifier(issuer_cache: TenantIssuerCache, issuer: Issuer, clock: ManualClock) -> TokenVerifier[Principal]:
    return TokenVerifier(
        issuers=[issuer],
        audience="keyfence",
        caller_from_claims=principal_from_claims,
        clock=clock,
        tenant_issuers=issuer_cache,
    )


def with_new_key(provider: IdentityProvider) -> IdentityProvider:
    return IdentityProvider(provider.clock, url=provider.url, kid="k2", key_name=f"{provider.key_name}-renewed")


def jwks_of(*providers: IdentityProvider) -> dict[str, object]:
    return {"keys": [key for provider in providers for key in provider.jwks()["keys"]]}


async def test_a_tenants_issuer_is_accepted_for_its_tenant(
    verifier: TokenVerifier[Principal], a1: IdentityProvider, a10: IdentityProvider
) -> None:
    assert (await verifier.verify(a1.token(tenant="a1"))).tenant == "a1"
    assert (await verifier.verify(a10.token(tenant="a10"))).tenant == "a10"


@pytest.mark.parametrize("claimed", ["a10", "a", "a11", "acme", "A1", "a1#", None, 1, ["a1"]])
async def test_a_tenants_issuer_that_claims_another_tenant_is_refused(
    verifier: TokenVerifier[Principal], a1: IdentityProvider, claimed: object
) -> None:
    with pytest.raises(Unauthenticated):
        await verifier.verify(a1.token(tenant=claimed))


async def test_an_issuer_is_refused_for_a_tenant_whose_id_is_a_prefix_of_its_own(
    verifier: TokenVerifier[Principal], a10: IdentityProvider
) -> None:
    with pytest.raises(Unauthenticated, match="may not issue tokens for"):
        await verifier.verify(a10.token(tenant="a1"))


async def test_a_tenants_key_verifies_no_token_of_another_tenants_issuer(
    verifier: TokenVerifier[Principal], a1: IdentityProvider, a10: IdentityProvider
) -> None:
    forged = IdentityProvider(a1.clock, url=A10, key_name=a1.key_name)
    await verifier.verify(a10.token(tenant="a10"))
    with pytest.raises(Unauthenticated, match="not signed"):
        await verifier.verify(forged.token(tenant="a10"))


async def test_a_tenant_cannot_replace_an_issuer_of_the_settings(
    verifier: TokenVerifier[Principal],
    stored_issuers: InMemoryIssuers,
    provider: IdentityProvider,
    a1: IdentityProvider,
) -> None:
    stored_issuers.store(provider.url, "a1", a1.jwks())
    impostor = IdentityProvider(a1.clock, url=provider.url, key_name=a1.key_name)
    assert (await verifier.verify(provider.token(tenant="globex"))).tenant == "globex"
    with pytest.raises(Unauthenticated):
        await verifier.verify(impostor.token(tenant="a1"))
    assert stored_issuers.lookups == []


async def test_an_issuer_of_the_settings_that_is_bound_to_a_tenant_is_accepted_for_it_only(
    issuer_cache: TenantIssuerCache, provider: IdentityProvider, clock: ManualClock
) -> None:
    bound = new_verifier(issuer_cache, provider.issuer("a1"), clock)
    assert (await bound.verify(provider.token(tenant="a1"))).tenant == "a1"
    with pytest.raises(Unauthenticated, match="may not issue tokens for"):
        await bound.verify(provider.token(tenant="a10"))


async def test_a_tenants_issuer_is_refused_in_the_operators_api(
    issuer_cache: TenantIssuerCache, provider: IdentityProvider, a1: IdentityProvider, clock: ManualClock
) -> None:
    operators = TokenVerifier(
        issuers=[provider.issuer()], audience="keyfence-admin", caller_from_claims=operator_from_claims, clock=clock
    )
    with pytest.raises(Unauthenticated):
        await operators.verify(a1.token_without("tenant", aud="keyfence-admin"))
    misconfigured = TokenVerifier(
        issuers=[],
        audience="keyfence-admin",
        caller_from_claims=operator_from_claims,
        clock=clock,
        tenant_issuers=issuer_cache,
    )
    with pytest.raises(Unauthenticated, match="operators' API"):
        await misconfigured.verify(a1.token_without("tenant", aud="keyfence-admin"))


async def test_a_cached_token_costs_one_lookup_of_its_issuer_per_max_age_and_no_verification(
    verifier: TokenVerifier[Principal],
    stored_issuers: InMemoryIssuers,
    a1: IdentityProvider,
    clock: ManualClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    token = a1.token(tenant="a1")
    caller = await verifier.verify(token)
    monkeypatch.setattr(VerificationKey, "verifies", lambda *_, **__: pytest.fail("the signature was verified again"))
    for _ in range(10):
        clock.advance(MAX_AGE_SECONDS / 2)
        assert await verifier.verify(token) is caller
    assert len(stored_issuers.lookups) == 6


async def test_a_cached_token_is_refused_within_max_age_after_its_key_is_removed(
    verifier: TokenVerifier[Principal], stored_issuers: InMemoryIssuers, a1: IdentityProvider, clock: ManualClock
) -> None:
    token = a1.token(tenant="a1")
    await verifier.verify(token)
    stored_issuers.store(A1, "a1", jwks_of(with_new_key(a1)))
    clock.advance(MAX_AGE_SECONDS - 0.1)
    await verifier.verify(token)
    clock.advance(0.1)
    with pytest.raises(Unauthenticated):
        await verifier.verify(token)


async def test_a_key_rotation_with_overlap_refuses_no_token(
    verifier: TokenVerifier[Principal], stored_issuers: InMemoryIssuers, a1: IdentityProvider, clock: ManualClock
) -> None:
    new_provider = with_new_key(a1)
    old_token, new_token = a1.token(tenant="a1"), new_provider.token(tenant="a1")
    await verifier.verify(old_token)
    stored_issuers.store(A1, "a1", jwks_of(a1, new_provider))
    for _ in range(20):
        clock.advance(0.5)
        await verifier.verify(old_token)
        await verifier.verify(new_token)
        await verifier.verify(new_provider.token(tenant="a1", jti=str(clock.now)))
    stored_issuers.store(A1, "a1", jwks_of(new_provider))
    for _ in range(20):
        clock.advance(0.5)
        await verifier.verify(new_token)
    with pytest.raises(Unauthenticated):
        await verifier.verify(old_token)


async def test_a_token_of_a_new_key_is_accepted_immediately(
    verifier: TokenVerifier[Principal], stored_issuers: InMemoryIssuers, a1: IdentityProvider
) -> None:
    """The issuer was looked up a moment before, and other requests have unknown kids."""
    await verifier.verify(a1.token(tenant="a1"))
    for number in range(5):
        with pytest.raises(Unauthenticated):
            await verifier.verify(a1.sign(a1.claims(tenant="a1"), kid=f"random-{number}"))
        new_provider = IdentityProvider(a1.clock, url=A1, kid=f"new-{number}", key_name=f"new-{number}")
        stored_issuers.store(A1, "a1", jwks_of(a1, new_provider))
        assert (await verifier.verify(new_provider.token(tenant="a1"))).tenant == "a1"


async def test_a_cached_token_is_refused_within_max_age_after_its_issuer_moves_to_another_tenant(
    verifier: TokenVerifier[Principal], stored_issuers: InMemoryIssuers, a1: IdentityProvider, clock: ManualClock
) -> None:
    token = a1.token(tenant="a1")
    await verifier.verify(token)
    stored_issuers.store(A1, "globex", a1.jwks())
    clock.advance(MAX_AGE_SECONDS)
    with pytest.raises(Unauthenticated, match="may not issue tokens for"):
        await verifier.verify(token)
    assert (await verifier.verify(a1.token(tenant="globex"))).tenant == "globex"


async def test_a_cached_token_is_refused_within_max_age_after_its_issuer_is_deleted(
    verifier: TokenVerifier[Principal], stored_issuers: InMemoryIssuers, a1: IdentityProvider, clock: ManualClock
) -> None:
    token = a1.token(tenant="a1")
    await verifier.verify(token)
    del stored_issuers.issuers[A1]
    clock.advance(MAX_AGE_SECONDS)
    with pytest.raises(Unauthenticated, match="not signed by an issuer that is accepted"):
        await verifier.verify(token)


async def test_tokens_of_an_issuer_that_cannot_be_read_are_refused_and_other_issuers_are_not_affected(
    verifier: TokenVerifier[Principal],
    stored_issuers: InMemoryIssuers,
    provider: IdentityProvider,
    a1: IdentityProvider,
    a10: IdentityProvider,
    clock: ManualClock,
) -> None:
    token = a1.token(tenant="a1")
    await verifier.verify(token)
    stored_issuers.is_down = True
    await verifier.verify(token)
    clock.advance(MAX_AGE_SECONDS)
    for attempt in (token, a1.token(tenant="a1", jti="another"), a10.token(tenant="a10")):
        with pytest.raises(Internal):
            await verifier.verify(attempt)
    assert (await verifier.verify(provider.token(tenant="globex"))).tenant == "globex"
    stored_issuers.is_down = False
    assert (await verifier.verify(token)).tenant == "a1"


async def test_a_cached_token_is_verified_again_after_a_while_and_expires(
    verifier: TokenVerifier[Principal], a1: IdentityProvider, clock: ManualClock
) -> None:
    token = a1.token(tenant="a1", exp=int(clock.now) + 2 * RECHECK_SECONDS)
    caller = await verifier.verify(token)
    clock.advance(RECHECK_SECONDS)
    caller_again = await verifier.verify(token)
    assert caller_again is not caller
    assert caller_again == caller
    clock.advance(RECHECK_SECONDS + 10)
    with pytest.raises(Unauthenticated, match="expired"):
        await verifier.verify(token)


MAPPING = {"claims": {"tenant": "org", "role": "groups"}, "tenants": {"org_1": "a1"}, "roles": {"staff": "MEMBER"}}


def mapped_token(provider: IdentityProvider, **claims: object) -> str:
    return provider.token_without("tenant", "role", **{"org": "org_1", "groups": ["staff"], **claims})


async def test_a_mapping_of_a_tenants_issuer_is_used(
    verifier: TokenVerifier[Principal], stored_issuers: InMemoryIssuers, a1: IdentityProvider
) -> None:
    stored_issuers.store(A1, "a1", a1.jwks(), MAPPING)
    principal = await verifier.verify(mapped_token(a1))
    assert (principal.tenant, principal.role) == ("a1", "MEMBER")
    refused: list[dict[str, object]] = [{"org": "org_2"}, {"org": "a1"}, {"groups": []}, {"groups": ["OWNER"]}]
    for claims in refused:
        with pytest.raises(Unauthenticated):
            await verifier.verify(mapped_token(a1, **claims))


async def test_a_mapping_without_a_tenant_claim_yields_the_tenant_of_the_issuer_only(
    verifier: TokenVerifier[Principal], stored_issuers: InMemoryIssuers, a1: IdentityProvider
) -> None:
    stored_issuers.store(A1, "a1", a1.jwks(), {"default_role": "VIEWER"})
    assert (await verifier.verify(a1.token_without("tenant", "role"))).tenant == "a1"
    for claimed in ("a10", "A1", "", ["a1"], 1):
        with pytest.raises(Unauthenticated):
            await verifier.verify(a1.token_without("role", tenant=claimed))


async def test_a_changed_mapping_ends_the_tokens_that_were_verified_with_the_old_one(
    verifier: TokenVerifier[Principal], stored_issuers: InMemoryIssuers, a1: IdentityProvider, clock: ManualClock
) -> None:
    stored_issuers.store(A1, "a1", a1.jwks(), {**MAPPING, "roles": {"staff": "OWNER"}})
    token = mapped_token(a1)
    assert (await verifier.verify(token)).role == "OWNER"
    stored_issuers.store(A1, "a1", a1.jwks(), MAPPING)
    clock.advance(MAX_AGE_SECONDS)
    assert (await verifier.verify(token)).role == "MEMBER"
    stored_issuers.store(A1, "a1", a1.jwks())
    clock.advance(MAX_AGE_SECONDS)
    with pytest.raises(Unauthenticated):
        await verifier.verify(token)


async def test_a_warm_token_with_a_mapping_needs_no_lookup(
    verifier: TokenVerifier[Principal], stored_issuers: InMemoryIssuers, a1: IdentityProvider
) -> None:
    stored_issuers.store(A1, "a1", a1.jwks(), MAPPING)
    token = mapped_token(a1)
    principal = await verifier.verify(token)
    for _ in range(5):
        assert await verifier.verify(token) is principal
    assert stored_issuers.lookups == [A1]
