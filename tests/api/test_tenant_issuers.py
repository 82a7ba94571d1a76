"""A tenant's own identity provider, through the whole service: which tokens are accepted, and how keys are rotated."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from keyfence.app.service import Service
from keyfence.auth.egress import EgressPolicy, is_public_address
from keyfence.auth.key_sets import JwksFetcher
from keyfence.local.issuer import LocalIssuer
from keyfence.settings import IssuerSettings
from tests.data.operator_requests import ONBOARD, TenantApplicant, event_kinds
from tests.fakes.jwks_server import JwksServer, running_jwks_server
from tests.fakes.tenant_identity_provider import TenantIdentityProvider
from tests.fakes.tls import CertificateAuthority
from tests.stack import Session, World

VIEWER = "{ viewer { subject tenant { id } } }"
SET = """mutation($id: ID!, $jwks: JSON, $jwksUri: String) {
  setIdentity(id: $id, jwks: $jwks, jwksUri: $jwksUri) { issuer } }"""
BOUND = 0.2


def elsewhere(world: World, **changes: Any) -> World:
    """Another server over the same table, which learns of changes only by reading."""
    settings = world.settings.model_copy(update={"tenant_cache_seconds": BOUND, **changes})
    return replace(world, settings=settings, application=world.serve(settings=settings))


def rotated(provider: TenantIdentityProvider) -> TenantIdentityProvider:
    return TenantIdentityProvider(issuer=provider.issuer, kid=f"{provider.kid}-next")


def keys(*providers: TenantIdentityProvider) -> dict[str, Any]:
    return {"keys": [key for provider in providers for key in provider.jwks()["keys"]]}


def bearer(world: World, newcomer: TenantApplicant, provider: TenantIdentityProvider) -> Session:
    return replace(newcomer.session(world), token=provider.token(tenant=newcomer.id))


async def let_in(session: Session) -> bool:
    answer = await session.answer(VIEWER)
    if "errors" not in answer:
        return True
    assert answer["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED"
    return False


async def test_tenants_with_a_common_prefix_are_separate_on_every_server(world: World) -> None:
    a1 = TenantApplicant(id="a1", provider=TenantIdentityProvider(issuer="https://id.example/a1"))
    a10 = TenantApplicant(id="a10", provider=TenantIdentityProvider(issuer="https://id.example/a10"))
    await a1.onboard(world)
    await a10.onboard(world)
    for server in (world, elsewhere(world)):
        assert (await a1.session(server).ask(VIEWER))["viewer"]["tenant"]["id"] == "a1"
        assert (await a10.session(server).ask(VIEWER))["viewer"]["tenant"]["id"] == "a10"
        assert await a1.session(server, claiming="a10").refusal(VIEWER) == "UNAUTHENTICATED"
        assert await a10.session(server, claiming="a1").refusal(VIEWER) == "UNAUTHENTICATED"
        forged = TenantIdentityProvider(issuer=a10.provider.issuer, key=a1.provider.key)
        assert not await let_in(bearer(server, a10, forged))


async def test_issuers_of_the_settings_are_accepted_unless_they_belong_to_another_tenant(world: World) -> None:
    newcomer = TenantApplicant.named()
    await newcomer.onboard(world)
    tenant = newcomer.session(world).tenant
    assert await let_in(world.session(tenant))
    bound = LocalIssuer(key=world.issuer.key, issuer="https://bound.example")
    other = IssuerSettings(issuer=bound.issuer, jwks=bound.jwks(), tenant="somebody-else")
    server = elsewhere(world, issuers=(*world.settings.issuers, other))
    assert not await let_in(replace(server, issuer=bound).session(tenant))


@pytest.mark.parametrize("whose", ["issuers", "admin_issuers"])
async def test_no_tenant_can_own_an_issuer_of_the_settings(world: World, whose: str) -> None:
    ours, newcomer = TenantIdentityProvider(issuer="https://ours.example"), TenantApplicant.named()
    named = IssuerSettings(issuer=ours.issuer, jwks=ours.jwks())
    server = elsewhere(world, **{whose: (*getattr(world.settings, whose), named)})
    (error,) = (await server.operator().answer(ONBOARD, input=newcomer.application(issuer=ours.issuer)))["errors"]
    assert (error["extensions"]["code"], error["extensions"]["field"]) == ("BAD_USER_INPUT", "issuer")


async def test_keys_can_be_rotated_without_refused_tokens(world: World) -> None:
    newcomer = TenantApplicant.named()
    await newcomer.onboard(world)
    old, new = newcomer.provider, rotated(newcomer.provider)
    servers = [world, elsewhere(world)]
    for server in servers:
        assert await let_in(bearer(server, newcomer, old))
    await world.operator().ask(SET, id=newcomer.id, jwks=keys(old, new))
    for server in servers:
        assert await let_in(bearer(server, newcomer, new))
        assert await let_in(bearer(server, newcomer, old))
    remembered = [bearer(server, newcomer, old) for server in servers]
    for session in remembered:
        assert await let_in(session)
    await world.operator().ask(SET, id=newcomer.id, jwks=keys(new))
    for server in servers:
        assert await let_in(bearer(server, newcomer, new))
    assert not await let_in(remembered[0])
    await asyncio.sleep(BOUND)
    assert not await let_in(remembered[1])


async def test_a_new_key_can_sign_as_soon_as_it_is_set(world: World) -> None:
    newcomer = TenantApplicant.named()
    await newcomer.onboard(world)
    servers = [world, elsewhere(world, tenant_cache_seconds=60.0)]
    provider = newcomer.provider
    for _ in range(3):
        for server in servers:
            assert await let_in(bearer(server, newcomer, provider))
        provider = rotated(provider)
        await world.operator().ask(SET, id=newcomer.id, jwks=keys(provider))
        for server in servers:
            assert await let_in(bearer(server, newcomer, provider))


async def test_setting_keys_leaves_an_event_and_the_issuer_as_it_is(world: World) -> None:
    newcomer = TenantApplicant.named()
    await newcomer.onboard(world)
    answer = await world.operator().ask(SET, id=newcomer.id, jwks=rotated(newcomer.provider).jwks())
    assert answer["setIdentity"]["issuer"] == newcomer.provider.issuer
    assert await event_kinds(world, newcomer.id) == ["tenant.claimed", "tenant.onboarded", "tenant.identity"]


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({}, "jwks"),
        ({"jwks": {"keys": []}, "jwksUri": "https://id.example/jwks"}, "jwksUri"),
        ({"jwks": {"keys": []}}, "jwks"),
        ({"jwks": [1]}, "jwks"),
        ({"jwksUri": "http://id.example/jwks"}, "jwksUri"),
        ({"jwksUri": "https://169.254.169.254/latest/meta-data"}, "jwksUri"),
    ],
)
async def test_unusable_keys_are_refused_with_their_field(world: World, given: dict[str, Any], field: str) -> None:
    newcomer = TenantApplicant.named()
    await newcomer.onboard(world)
    (error,) = (await world.operator().answer(SET, id=newcomer.id, **given))["errors"]
    assert (error["extensions"]["code"], error["extensions"]["field"]) == ("BAD_USER_INPUT", field)
    assert await let_in(newcomer.session(world))


@pytest.mark.parametrize(("id", "code"), [("nobody-here", "NOT_FOUND"), ("A#", "BAD_USER_INPUT")])
async def test_keys_of_an_unknown_tenant_cannot_be_set(world: World, id: str, code: str) -> None:
    assert await world.operator().refusal(SET, id=id, jwksUri="https://id.example/jwks") == code


async def test_a_tenants_token_cannot_set_keys(world: World) -> None:
    newcomer = TenantApplicant.named()
    await newcomer.onboard(world)
    own = replace(newcomer.session(world), path="/admin/graphql")
    assert await own.refusal(SET, id=newcomer.id, jwks=newcomer.provider.jwks()) == "UNAUTHENTICATED"


async def test_unknown_issuers_are_throttled_before_a_lookup_and_tenants_are_not(world: World) -> None:
    newcomer = TenantApplicant.named()
    await newcomer.onboard(world)
    server = elsewhere(world, issuer_lookups_per_second=0.001, tenant_cache_seconds=60.0)
    known = newcomer.session(server)
    assert await let_in(known)
    world.calls()
    for number in range(10):
        stranger = bearer(server, newcomer, TenantIdentityProvider(issuer=f"https://made-up.example/{number}"))
        assert await stranger.refusal(VIEWER) == "THROTTLED"
    assert world.calls() == []
    assert await let_in(known)
    assert await let_in(newcomer.session(server))


@pytest.fixture
def authority(tmp_path: Path) -> CertificateAuthority:
    return CertificateAuthority(tmp_path)


@pytest.fixture
def published_at(authority: CertificateAuthority) -> Iterator[JwksServer]:
    with running_jwks_server(authority.server_context("keys.example")) as server:
        yield server


def fetching(world: World, authority: CertificateAuthority, *, loopback: bool) -> World:
    """A server for which every host name resolves to this machine, which it may call or not."""
    trusting = authority.client_context()
    reach = EgressPolicy(
        is_allowed=lambda address: loopback or is_public_address(address),
        resolve=lambda _host, _port: ["127.0.0.1"],
        tls_context=lambda: trusting,
    )
    made = Service(world.connections, jwks=JwksFetcher(egress=reach)).app
    return replace(world, application=made)


async def test_keys_are_fetched_from_the_tenants_jwks_uri(
    world: World, authority: CertificateAuthority, published_at: JwksServer
) -> None:
    newcomer = TenantApplicant.named()
    published_at.publish(newcomer.provider.jwks())
    server = fetching(world, authority, loopback=True)
    uri = f"https://keys.example:{published_at.server_port}/jwks"
    await newcomer.onboard(server, jwks=None, jwksUri=uri)
    assert await let_in(newcomer.session(server))
    assert not await let_in(bearer(server, newcomer, TenantIdentityProvider(issuer=newcomer.provider.issuer)))
    assert published_at.hits == ["/jwks"]


async def test_keys_at_a_private_address_are_not_fetched(
    world: World, authority: CertificateAuthority, published_at: JwksServer
) -> None:
    newcomer = TenantApplicant.named()
    published_at.publish(newcomer.provider.jwks())
    server = fetching(world, authority, loopback=False)
    uri = f"https://keys.example:{published_at.server_port}/jwks"
    await newcomer.onboard(server, jwks=None, jwksUri=uri)
    assert await newcomer.session(server).refusal(VIEWER) == "THROTTLED"
    assert published_at.connections == 0


async def test_the_production_service_calls_no_private_address(world: World, published_at: JwksServer) -> None:
    newcomer = TenantApplicant.named()
    await newcomer.onboard(world, jwks=None, jwksUri=f"https://localhost:{published_at.server_port}/jwks")
    assert await newcomer.session(world).refusal(VIEWER) == "THROTTLED"
    assert published_at.connections == 0
