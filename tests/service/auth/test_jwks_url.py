"""A key set is fetched over HTTP without trust in the answer."""

from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from keyfence.auth.claims import principal_from_claims
from keyfence.auth.egress import parse_operator_uri
from keyfence.auth.http_get import DEFAULT_LIMITS, MAX_BODY_BYTES, FetchLimits
from keyfence.auth.issuer import issuer_from_settings
from keyfence.auth.jwks_refresh import RefreshPolicy
from keyfence.auth.jwks_url import JwksUnavailable, JwksUrl
from keyfence.auth.token_verifier import TokenVerifier, operator_verifier, tenant_verifier
from keyfence.errors import Throttled, Unauthenticated
from keyfence.local.development_issuer import DevelopmentIssuer
from keyfence.settings import IssuerSettings, Settings
from tests.fakes.clock import ManualClock
from tests.fakes.identity_provider import URL, IdentityProvider
from tests.fakes.jwks_server import JwksServer


def jwks_url(server: JwksServer, limits: FetchLimits = DEFAULT_LIMITS) -> JwksUrl:
    return JwksUrl(parse_operator_uri(server.url()), limits=limits)


def test_a_published_key_is_fetched(jwks_server: JwksServer, provider: IdentityProvider) -> None:
    jwks_server.publish(provider.jwks())
    assert set(jwks_url(jwks_server).fetch()) == {"k1"}


def test_a_body_of_exactly_the_limit_is_read(jwks_server: JwksServer, provider: IdentityProvider) -> None:
    jwks_server.publish(provider.jwks())
    jwks_server.body = jwks_server.body.ljust(MAX_BODY_BYTES)
    assert set(jwks_url(jwks_server).fetch()) == {"k1"}


@pytest.mark.parametrize("headers", [{}, {"Content-Length": ""}], ids=["with its length", "until the end"])
def test_a_body_over_the_limit_is_refused(
    jwks_server: JwksServer, provider: IdentityProvider, headers: dict[str, str]
) -> None:
    jwks_server.publish(provider.jwks())
    jwks_server.body, jwks_server.headers = jwks_server.body.ljust(MAX_BODY_BYTES + 1), headers
    with pytest.raises(JwksUnavailable, match="more than"):
        jwks_url(jwks_server).fetch()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(jwks_server: JwksServer, provider: IdentityProvider, status: int) -> None:
    jwks_server.publish(provider.jwks())
    jwks_server.status, jwks_server.headers = status, {"Location": jwks_server.url("/elsewhere")}
    with pytest.raises(JwksUnavailable, match=str(status)):
        jwks_url(jwks_server).fetch()
    assert jwks_server.requested_paths == ["/jwks"]


@pytest.mark.parametrize("status", [201, 204, 404, 500, 503])
def test_keys_in_an_answer_other_than_200_are_not_read(
    jwks_server: JwksServer, provider: IdentityProvider, status: int
) -> None:
    jwks_server.publish(provider.jwks())
    jwks_server.status = status
    with pytest.raises(JwksUnavailable, match=str(status)):
        jwks_url(jwks_server).fetch()


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"keys":', b'{"keys":7}', b"\xff\xfe", b"[" * 60_000])
def test_a_body_that_is_not_a_key_set_counts_as_an_outage(jwks_server: JwksServer, body: bytes) -> None:
    jwks_server.body = body
    with pytest.raises(JwksUnavailable):
        jwks_url(jwks_server).fetch()


def test_a_truncated_body_counts_as_an_outage(jwks_server: JwksServer, provider: IdentityProvider) -> None:
    jwks_server.publish(provider.jwks())
    jwks_server.headers = {"Content-Length": str(len(jwks_server.body) + 1)}
    with pytest.raises(JwksUnavailable):
        jwks_url(jwks_server).fetch()


def test_a_source_that_sends_nothing_counts_as_an_outage(jwks_server: JwksServer, provider: IdentityProvider) -> None:
    jwks_server.publish(provider.jwks())
    jwks_server.may_answer.clear()
    with pytest.raises(JwksUnavailable, match="Timeout"):
        jwks_url(jwks_server, FetchLimits(idle_seconds=0.05)).fetch()


def test_a_body_that_is_sent_too_slowly_counts_as_an_outage(
    jwks_server: JwksServer, provider: IdentityProvider
) -> None:
    jwks_server.publish(provider.jwks())
    jwks_server.pause_seconds = 0.005
    with pytest.raises(JwksUnavailable, match="Timeout"):
        jwks_url(jwks_server, FetchLimits(total_seconds=0.05)).fetch()


def test_a_refused_connection_counts_as_an_outage() -> None:
    with pytest.raises(JwksUnavailable):
        JwksUrl(parse_operator_uri("http://127.0.0.1:1/jwks")).fetch()


async def test_a_verifier_follows_a_rotation_and_an_outage_over_http(
    jwks_server: JwksServer, provider: IdentityProvider, clock: ManualClock
) -> None:
    issuer = issuer_from_settings(IssuerSettings(issuer=URL, jwks_uri=jwks_server.url()), clock=clock)
    verifier = TokenVerifier(
        issuers=[issuer], audience="keyfence", caller_from_claims=principal_from_claims, clock=clock
    )
    rotated = IdentityProvider(clock, kid="k2", key_name="second")
    jwks_server.status = 503
    with pytest.raises(Throttled):
        await verifier.verify(provider.token())
    clock.advance(RefreshPolicy().min_interval_seconds)
    jwks_server.publish(provider.jwks())
    assert (await verifier.verify(provider.token())).tenant == "acme"
    clock.advance(RefreshPolicy().min_interval_seconds)
    jwks_server.publish(rotated.jwks())
    assert (await verifier.verify(rotated.token())).tenant == "acme"
    with pytest.raises(Unauthenticated):
        await verifier.verify(provider.token())
    assert len(jwks_server.requested_paths) == 3


def test_a_fetched_development_key_is_left_out_unless_it_is_allowed(
    jwks_server: JwksServer, provider: IdentityProvider
) -> None:
    (key,) = provider.jwks()["keys"]
    jwks_server.publish({"keys": [key, {**key, "kid": "dev-k2"}]})
    assert set(jwks_url(jwks_server).fetch()) == {"k1"}
    assert set(replace(jwks_url(jwks_server), allow_development_keys=True).fetch()) == {"k1", "dev-k2"}


@pytest.mark.parametrize(
    ("role_arn_prefix", "is_accepted"), [("arn:aws:iam::123456789012:role/keyfence-", False), (None, True)]
)
@pytest.mark.parametrize("audience", ["keyfence", "keyfence-admin"])
async def test_a_token_of_a_fetched_development_key_is_refused_on_aws(
    jwks_server: JwksServer, audience: str, role_arn_prefix: str | None, is_accepted: bool
) -> None:
    issuer = DevelopmentIssuer(key=ec.generate_private_key(ec.SECP256R1()), issuer=URL)
    jwks_server.publish(issuer.jwks())
    issuers = (IssuerSettings(issuer=URL, jwks_uri=jwks_server.url()),)
    settings = Settings(issuers=issuers, admin_issuers=issuers, role_arn_prefix=role_arn_prefix)
    try:
        if audience == settings.audience:
            await tenant_verifier(settings).verify(issuer.token(tenant="acme", user="ann"))
        else:
            await operator_verifier(settings).verify(issuer.admin_token())
        accepted = True
    except Unauthenticated:
        accepted = False
    assert accepted == is_accepted
