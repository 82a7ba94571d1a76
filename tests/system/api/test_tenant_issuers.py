"""Tokens of a tenant's own identity provider are accepted for this tenant only, also while its keys are rotated."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from keyfence.app.composition_root import Service
from keyfence.auth.egress import EgressPolicy, is_public_address
from keyfence.auth.jwks_refresh import JwksFetcher
from keyfence.auth.jwks_url import OPENID_PATH
from keyfence.local.development_issuer import DevelopmentIssuer
from keyfence.settings import IssuerSettings
from tests.data.operator_requests import ONBOARD, TenantApplicant, event_kinds
from tests.fakes.jwks_server import JwksServer, running_jwks_server
from tests.fakes.tenant_identity_provider import TenantIdentityProvider
from tests.fakes.tls import CertificateAuthority
from tests.stack import ApiClient, ServiceStack

VIEWER = "{ viewer { subject tenant { id } } }"
SET = """mutation($id: ID!, $jwks: JSON, $jwksUri: String) {
  setIdentity(id: $id, jwks: $jwks, jwksUri: $jwksUri) { issuer } }"""
CACHE_SECONDS = 0.2


def other_server(stack: ServiceStack, **changes: Any) -> ServiceStack:
    """Returns another server of the same table. It learns of changes only when its cache expires."""
    settings = stack.settings.model_copy(update={"tenant_cache_seconds": CACHE_SECONDS, **changes})
    return replace(stack, settings=settings, application=stack.serve(settings=settings))


def with_next_key(provider: TenantIdentityProvider) -> TenantIdentityProvider:
    return TenantIdentityProvider(issuer=provider.issuer, kid=f"{provider.kid}-next")


def keys(*providers: TenantIdentityProvider) -> dict[str, Any]:
    return {"keys": [key for provider in providers for key in provider.jwks()["keys"]]}


def client_with_token_of(
    stack: ServiceStack, applicant: TenantApplicant, provider: TenantIdentityProvider
) -> ApiClient:
    return replace(applicant.session(stack), token=provider.token(tenant=applicant.id))


async def is_accepted(session: ApiClient) -> bool:
    answer = await session.execute(VIEWER)
    if "errors" not in answer:
        return True
    assert answer["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED"
    return False


async def test_tenants_with_a_common_prefix_are_separate_on_every_server(stack: ServiceStack) -> None:
    a1 = TenantApplicant(id="a1", provider=TenantIdentityProvider(issuer="https://id.example/a1"))
    a10 = TenantApplicant(id="a10", provider=TenantIdentityProvider(issuer="https://id.example/a10"))
    await a1.onboard(stack)
    await a10.onboard(stack)
    for server in (stack, other_server(stack)):
        assert (await a1.session(server).data(VIEWER))["viewer"]["tenant"]["id"] == "a1"
        assert (await a10.session(server).data(VIEWER))["viewer"]["tenant"]["id"] == "a10"
        assert await a1.session(server, claiming="a10").error_code(VIEWER) == "UNAUTHENTICATED"
        assert await a10.session(server, claiming="a1").error_code(VIEWER) == "UNAUTHENTICATED"
        forged = TenantIdentityProvider(issuer=a10.provider.issuer, key=a1.provider.key)
        assert not await is_accepted(client_with_token_of(server, a10, forged))


async def test_issuers_of_the_settings_are_accepted_unless_they_belong_to_another_tenant(stack: ServiceStack) -> None:
    applicant = TenantApplicant.named()
    await applicant.onboard(stack)
    tenant = applicant.session(stack).tenant
    assert await is_accepted(stack.api_client(tenant))
    bound = DevelopmentIssuer(key=stack.issuer.key, issuer="https://bound.example")
    other_tenant = IssuerSettings(issuer=bound.issuer, jwks=bound.jwks(), tenant="somebody-else")
    server = other_server(stack, issuers=(*stack.settings.issuers, other_tenant))
    assert not await is_accepted(replace(server, issuer=bound).api_client(tenant))


@pytest.mark.parametrize("setting", ["issuers", "admin_issuers"])
async def test_no_tenant_can_own_an_issuer_of_the_settings(stack: ServiceStack, setting: str) -> None:
    provider, applicant = TenantIdentityProvider(issuer="https://ours.example"), TenantApplicant.named()
    issuer_settings = IssuerSettings(issuer=provider.issuer, jwks=provider.jwks())
    server = other_server(stack, **{setting: (*getattr(stack.settings, setting), issuer_settings)})
    (error,) = (await server.operator_client().execute(ONBOARD, input=applicant.application(issuer=provider.issuer)))[
        "errors"
    ]
    assert (error["extensions"]["code"], error["extensions"]["field"]) == ("BAD_USER_INPUT", "issuer")


async def test_keys_can_be_rotated_without_refused_tokens(stack: ServiceStack) -> None:
    applicant = TenantApplicant.named()
    await applicant.onboard(stack)
    old, new = applicant.provider, with_next_key(applicant.provider)
    servers = [stack, other_server(stack)]
    for server in servers:
        assert await is_accepted(client_with_token_of(server, applicant, old))
    await stack.operator_client().data(SET, id=applicant.id, jwks=keys(old, new))
    for server in servers:
        assert await is_accepted(client_with_token_of(server, applicant, new))
        assert await is_accepted(client_with_token_of(server, applicant, old))
    cached_issuer = [client_with_token_of(server, applicant, old) for server in servers]
    for session in cached_issuer:
        assert await is_accepted(session)
    await stack.operator_client().data(SET, id=applicant.id, jwks=keys(new))
    for server in servers:
        assert await is_accepted(client_with_token_of(server, applicant, new))
    assert not await is_accepted(cached_issuer[0])
    await asyncio.sleep(CACHE_SECONDS)
    assert not await is_accepted(cached_issuer[1])


async def test_a_new_key_can_sign_as_soon_as_it_is_set(stack: ServiceStack) -> None:
    applicant = TenantApplicant.named()
    await applicant.onboard(stack)
    servers = [stack, other_server(stack, tenant_cache_seconds=60.0)]
    provider = applicant.provider
    for _ in range(3):
        for server in servers:
            assert await is_accepted(client_with_token_of(server, applicant, provider))
        provider = with_next_key(provider)
        await stack.operator_client().data(SET, id=applicant.id, jwks=keys(provider))
        for server in servers:
            assert await is_accepted(client_with_token_of(server, applicant, provider))


async def test_setting_keys_leaves_an_event_and_the_issuer_as_it_is(stack: ServiceStack) -> None:
    applicant = TenantApplicant.named()
    await applicant.onboard(stack)
    answer = await stack.operator_client().data(SET, id=applicant.id, jwks=with_next_key(applicant.provider).jwks())
    assert answer["setIdentity"]["issuer"] == applicant.provider.issuer
    assert await event_kinds(stack, applicant.id) == [
        "tenant.registered",
        "tenant.onboarded",
        "tenant.issuer_keys_changed",
    ]


@pytest.mark.parametrize(
    ("keys_input", "field"),
    [
        ({}, "jwks"),
        ({"jwks": {"keys": []}, "jwksUri": "https://id.example/jwks"}, "jwksUri"),
        ({"jwks": {"keys": []}}, "jwks"),
        ({"jwks": [1]}, "jwks"),
        ({"jwksUri": "http://id.example/jwks"}, "jwksUri"),
        ({"jwksUri": "https://169.254.169.254/latest/meta-data"}, "jwksUri"),
    ],
)
async def test_unusable_keys_are_refused_with_their_field(
    stack: ServiceStack, keys_input: dict[str, Any], field: str
) -> None:
    applicant = TenantApplicant.named()
    await applicant.onboard(stack)
    (error,) = (await stack.operator_client().execute(SET, id=applicant.id, **keys_input))["errors"]
    assert (error["extensions"]["code"], error["extensions"]["field"]) == ("BAD_USER_INPUT", field)
    assert await is_accepted(applicant.session(stack))


@pytest.mark.parametrize(("id", "code"), [("nobody-here", "NOT_FOUND"), ("A#", "BAD_USER_INPUT")])
async def test_keys_of_an_unknown_tenant_cannot_be_set(stack: ServiceStack, id: str, code: str) -> None:
    assert await stack.operator_client().error_code(SET, id=id, jwksUri="https://id.example/jwks") == code


async def test_a_tenants_token_cannot_set_keys(stack: ServiceStack) -> None:
    applicant = TenantApplicant.named()
    await applicant.onboard(stack)
    own = replace(applicant.session(stack), path="/admin/graphql")
    assert await own.error_code(SET, id=applicant.id, jwks=applicant.provider.jwks()) == "UNAUTHENTICATED"


async def test_unknown_issuers_are_throttled_before_a_lookup_and_tenants_are_not(stack: ServiceStack) -> None:
    applicant = TenantApplicant.named()
    await applicant.onboard(stack)
    server = other_server(stack, issuer_lookups_per_second=0.001, tenant_cache_seconds=60.0)
    client = applicant.session(server)
    assert await is_accepted(client)
    stack.take_calls()
    for number in range(10):
        stranger = client_with_token_of(
            server, applicant, TenantIdentityProvider(issuer=f"https://made-up.example/{number}")
        )
        assert await stranger.error_code(VIEWER) == "THROTTLED"
    assert stack.take_calls() == []
    assert await is_accepted(client)
    assert await is_accepted(applicant.session(server))


@pytest.fixture
def authority(tmp_path: Path) -> CertificateAuthority:
    return CertificateAuthority(tmp_path)


@pytest.fixture
def jwks_server(authority: CertificateAuthority) -> Iterator[JwksServer]:
    with running_jwks_server(authority.server_context("keys.example")) as server:
        yield server


def server_that_fetches_keys(stack: ServiceStack, authority: CertificateAuthority, *, loopback: bool) -> ServiceStack:
    """Returns a server for which every host name resolves to this machine. `loopback` says whether it may call it."""
    tls_context = authority.client_context()
    egress = EgressPolicy(
        is_allowed=lambda address: loopback or is_public_address(address),
        resolve=lambda _host, _port: ["127.0.0.1"],
        tls_context=lambda: tls_context,
    )
    application = Service(stack.connections, jwks=JwksFetcher(egress=egress)).app
    return replace(stack, application=application)


async def test_keys_are_fetched_from_the_tenants_jwks_uri(
    stack: ServiceStack, authority: CertificateAuthority, jwks_server: JwksServer
) -> None:
    applicant = TenantApplicant.named()
    jwks_server.publish(applicant.provider.jwks())
    server = server_that_fetches_keys(stack, authority, loopback=True)
    uri = f"https://keys.example:{jwks_server.server_port}/jwks"
    await applicant.onboard(server, jwks=None, jwksUri=uri)
    assert await is_accepted(applicant.session(server))
    assert not await is_accepted(
        client_with_token_of(server, applicant, TenantIdentityProvider(issuer=applicant.provider.issuer))
    )
    assert jwks_server.requested_paths == ["/jwks"]


async def test_the_keys_of_a_tenants_issuer_are_discovered(
    stack: ServiceStack, authority: CertificateAuthority, jwks_server: JwksServer
) -> None:
    issuer = f"https://keys.example:{jwks_server.server_port}"
    applicant = TenantApplicant(id="discovered", provider=TenantIdentityProvider(issuer=issuer))
    jwks_server.documents = {
        OPENID_PATH: {"issuer": issuer, "jwks_uri": f"{issuer}/keys"},
        "/keys": applicant.provider.jwks(),
    }
    server = server_that_fetches_keys(stack, authority, loopback=True)
    await applicant.onboard(server, jwks=None)
    assert await is_accepted(applicant.session(server))
    assert await is_accepted(applicant.session(server))
    assert jwks_server.requested_paths == [OPENID_PATH, "/keys"]
    await server.operator_client().data(SET, id=applicant.id, jwks=applicant.provider.jwks())
    jwks_server.status = 503
    assert await is_accepted(applicant.session(server))
    assert jwks_server.requested_paths == [OPENID_PATH, "/keys"]


async def test_keys_at_a_private_address_are_not_fetched(
    stack: ServiceStack, authority: CertificateAuthority, jwks_server: JwksServer
) -> None:
    applicant = TenantApplicant.named()
    jwks_server.publish(applicant.provider.jwks())
    server = server_that_fetches_keys(stack, authority, loopback=False)
    uri = f"https://keys.example:{jwks_server.server_port}/jwks"
    await applicant.onboard(server, jwks=None, jwksUri=uri)
    assert await applicant.session(server).error_code(VIEWER) == "THROTTLED"
    assert jwks_server.connections == 0


async def test_the_production_service_calls_no_private_address(stack: ServiceStack, jwks_server: JwksServer) -> None:
    applicant = TenantApplicant.named()
    await applicant.onboard(stack, jwks=None, jwksUri=f"https://localhost:{jwks_server.server_port}/jwks")
    assert await applicant.session(stack).error_code(VIEWER) == "THROTTLED"
    assert jwks_server.connections == 0
