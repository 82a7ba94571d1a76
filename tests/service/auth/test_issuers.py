"""An issuer is built from settings that say exactly where its keys are."""

import pytest

from keyfence.auth.issuer import issuer_from_settings
from keyfence.auth.token_verifier import operator_verifier, tenant_verifier
from keyfence.settings import IssuerSettings, Settings
from tests.fakes.identity_provider import URL, IdentityProvider

JWKS_URI = "https://id.example/jwks"


def test_an_issuer_with_two_sources_of_keys_is_refused_with_its_url() -> None:
    with pytest.raises(ValueError, match=f"{URL}: set jwks or jwks_uri, not both"):
        issuer_from_settings(IssuerSettings(issuer=URL, jwks_uri=JWKS_URI, jwks={"keys": []}))


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "id.example/jwks",
        "http://id.example/jwks",
        "http://127.0.0.1.example/jwks",
        "http://localhost.example/jwks",
        "http://10.0.0.1/jwks",
        "https://user:secret@id.example/jwks",
        "http://127.0.0.1@id.example/jwks",
        "http://id.example\\@127.0.0.1/jwks",
        "ftp://127.0.0.1/jwks",
        "file:///etc/jwks",
        "https:///jwks",
        "https://[::1/jwks",
    ],
)
def test_a_jwks_uri_without_https_or_with_an_ambiguous_host_is_refused(uri: str) -> None:
    with pytest.raises(ValueError, match="https://"):
        issuer_from_settings(IssuerSettings(issuer=URL, jwks_uri=uri))


@pytest.mark.parametrize("uri", [JWKS_URI, "http://127.0.0.1:9/jwks", "http://[::1]:9/jwks", "http://localhost/jwks"])
def test_https_and_loopback_urls_are_accepted(uri: str) -> None:
    assert issuer_from_settings(IssuerSettings(issuer=URL, jwks_uri=uri)).url == URL


@pytest.mark.parametrize("tenant", ["", "ACME", "acme#x", "-acme", "a" * 33])
def test_an_issuer_with_a_malformed_tenant_id_is_refused(provider: IdentityProvider, tenant: str) -> None:
    with pytest.raises(ValueError, match="a tenant id is"):
        issuer_from_settings(IssuerSettings(issuer=URL, jwks=provider.jwks(), tenant=tenant))


def test_a_private_key_in_the_settings_is_refused_and_not_repeated(provider: IdentityProvider) -> None:
    with pytest.raises(ValueError, match="private") as refusal:
        issuer_from_settings(IssuerSettings(issuer=URL, jwks=provider.jwks(d="c2VjcmV0")))
    assert "c2VjcmV0" not in str(refusal.value)


def test_an_issuer_that_is_configured_twice_is_refused(provider: IdentityProvider) -> None:
    same_issuer_twice = tuple(
        IssuerSettings(issuer=URL, jwks=provider.jwks(), tenant=name) for name in ("acme", "globex")
    )
    with pytest.raises(ValueError, match="configured twice"):
        tenant_verifier(Settings(issuers=same_issuer_twice))


def test_operators_and_tenants_cannot_share_an_audience() -> None:
    with pytest.raises(ValueError, match="different audiences"):
        operator_verifier(Settings(audience="one", admin_audience="one"))


def test_an_operators_issuer_cannot_be_bound_to_a_tenant(provider: IdentityProvider) -> None:
    bound = IssuerSettings(issuer=URL, jwks=provider.jwks(), tenant="acme")
    with pytest.raises(ValueError, match="must not have a tenant"):
        operator_verifier(Settings(admin_issuers=(bound,)))
