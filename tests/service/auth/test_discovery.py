"""The keys of an issuer are discovered from its metadata, without trust in the document."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from keyfence.auth.claims import principal_from_claims
from keyfence.auth.egress import BadJwksUri, EgressPolicy, is_public_address, parse_operator_uri, parse_tenant_uri
from keyfence.auth.http_get import MAX_BODY_BYTES, FetchLimits
from keyfence.auth.issuer import issuer_from_settings
from keyfence.auth.jwks_refresh import JwksFetcher, RefreshPolicy
from keyfence.auth.jwks_url import OAUTH_PATH, OPENID_PATH, DiscoveredJwks, JwksUnavailable, metadata_urls
from keyfence.auth.principal import Principal
from keyfence.auth.token_verifier import TokenVerifier
from keyfence.errors import Throttled, Unauthenticated
from keyfence.settings import IssuerSettings
from tests.fakes.clock import ManualClock
from tests.fakes.identity_provider import IdentityProvider
from tests.fakes.jwks_server import JwksServer, running_jwks_server
from tests.fakes.tls import CertificateAuthority

POLICY = RefreshPolicy()
HOST = "id.acme.example"


@pytest.mark.parametrize(
    ("issuer", "openid", "oauth"),
    [
        ("https://id.example", f"https://id.example{OPENID_PATH}", f"https://id.example{OAUTH_PATH}"),
        ("https://id.example/", f"https://id.example{OPENID_PATH}", f"https://id.example{OAUTH_PATH}"),
        (
            "https://id.example:8443/a/b",
            f"https://id.example:8443/a/b{OPENID_PATH}",
            f"https://id.example:8443{OAUTH_PATH}/a/b",
        ),
        ("https://id.example/a/", f"https://id.example/a{OPENID_PATH}", f"https://id.example{OAUTH_PATH}/a"),
    ],
)
def test_the_well_known_path_is_appended_for_openid_and_inserted_for_oauth(
    issuer: str, openid: str, oauth: str
) -> None:
    assert metadata_urls(issuer) == (openid, oauth)


def publish(server: JwksServer, issuer: str, jwks: object, /, *, path: str = OPENID_PATH, **changes: object) -> None:
    """Publishes the keys, and metadata that name them. A change to None leaves a member of the metadata out."""
    metadata = {"issuer": issuer, "jwks_uri": server.url("/keys"), "token_endpoint": server.url("/token"), **changes}
    server.documents = {path: {name: value for name, value in metadata.items() if value is not None}, "/keys": jwks}


def discovered(issuer: str, limits: FetchLimits | None = None) -> DiscoveredJwks:
    return DiscoveredJwks.of(issuer, parse_operator_uri, limits=limits or FetchLimits())


@pytest.mark.parametrize("suffix", ["", "/", "/realms/acme"])
def test_the_keys_are_those_that_the_metadata_name(
    jwks_server: JwksServer, provider: IdentityProvider, suffix: str
) -> None:
    issuer = jwks_server.url(suffix)
    publish(jwks_server, issuer, provider.jwks(), path=f"{suffix.removesuffix('/')}{OPENID_PATH}")
    assert set(discovered(issuer).fetch()) == {"k1"}
    assert jwks_server.requested_paths == [f"{suffix.removesuffix('/')}{OPENID_PATH}", "/keys"]


def test_the_metadata_of_oauth_are_read_if_there_are_none_of_openid(
    jwks_server: JwksServer, provider: IdentityProvider
) -> None:
    issuer = jwks_server.url("/acme")
    publish(jwks_server, issuer, provider.jwks(), path=f"{OAUTH_PATH}/acme")
    assert set(discovered(issuer).fetch()) == {"k1"}
    assert jwks_server.requested_paths == [f"/acme{OPENID_PATH}", f"{OAUTH_PATH}/acme", "/keys"]


@pytest.mark.parametrize("issuer", ["https://id.example", None, 7, "{}/", "{}#x", " {}"])
def test_metadata_of_another_issuer_are_refused(
    jwks_server: JwksServer, provider: IdentityProvider, issuer: object
) -> None:
    own_issuer = jwks_server.url("")
    named = issuer.format(own_issuer) if isinstance(issuer, str) else issuer
    publish(jwks_server, own_issuer, provider.jwks(), issuer=named)
    with pytest.raises(JwksUnavailable, match="not those of the issuer"):
        discovered(own_issuer).fetch()
    assert jwks_server.requested_paths == [OPENID_PATH]


@pytest.mark.parametrize(
    "uri",
    [None, "", 7, ["https://id.example/keys"], "http://id.example/keys", "file:///etc/keys", "https://a@id.example"],
)
def test_a_jwks_uri_in_the_metadata_must_follow_the_rules_for_uris(
    jwks_server: JwksServer, provider: IdentityProvider, uri: object
) -> None:
    publish(jwks_server, jwks_server.url(""), provider.jwks(), jwks_uri=uri)
    with pytest.raises(JwksUnavailable, match="no jwks_uri"):
        discovered(jwks_server.url("")).fetch()
    assert jwks_server.requested_paths == [OPENID_PATH]


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"null", b"[" * 60_000, b" " * (MAX_BODY_BYTES + 1)])
def test_metadata_that_are_no_object_count_as_an_outage(jwks_server: JwksServer, body: bytes) -> None:
    jwks_server.body = body
    with pytest.raises(JwksUnavailable):
        discovered(jwks_server.url("")).fetch()


@pytest.mark.parametrize("status", [301, 302, 307, 404, 500])
def test_without_metadata_the_reasons_are_in_the_error(jwks_server: JwksServer, status: int) -> None:
    jwks_server.status, jwks_server.headers = status, {"Location": jwks_server.url("/elsewhere")}
    with pytest.raises(JwksUnavailable, match=f"no metadata: status {status}, status {status}"):
        discovered(jwks_server.url("")).fetch()
    assert "/elsewhere" not in jwks_server.requested_paths


def test_all_requests_of_a_fetch_share_one_deadline(jwks_server: JwksServer, provider: IdentityProvider) -> None:
    publish(jwks_server, jwks_server.url(""), provider.jwks())
    jwks_server.may_answer.clear()
    with pytest.raises(JwksUnavailable, match="no metadata: TimeoutError, TimeoutError"):
        discovered(jwks_server.url(""), FetchLimits(idle_seconds=30, total_seconds=0.1)).fetch()
    assert jwks_server.requested_paths == [OPENID_PATH]


@pytest.mark.parametrize("issuer", ["acme", "http://id.example", "https://id.example?x=1", "https://id.example#x", ""])
def test_an_issuer_whose_metadata_have_no_safe_url_is_refused_in_the_settings(issuer: str) -> None:
    with pytest.raises(ValueError, match="URL"):
        issuer_from_settings(IssuerSettings.model_construct(issuer=issuer))


def verifier_with(issuer: str, clock: ManualClock) -> TokenVerifier[Principal]:
    configured = issuer_from_settings(IssuerSettings(issuer=issuer), clock=clock)
    return TokenVerifier(
        issuers=[configured], audience="keyfence", caller_from_claims=principal_from_claims, clock=clock
    )


async def test_discovered_keys_are_cached_follow_a_rotation_and_survive_an_outage(
    jwks_server: JwksServer, clock: ManualClock
) -> None:
    issuer = jwks_server.url("")
    old, new = (IdentityProvider(clock, url=issuer, kid=kid, key_name=kid) for kid in ("k1", "k2"))
    verifier = verifier_with(issuer, clock)
    publish(jwks_server, issuer, old.jwks())
    for number in range(3):
        assert await verifier.verify(old.token(jti=f"t{number}"))
    assert len(jwks_server.requested_paths) == 2
    publish(jwks_server, issuer, new.jwks(), jwks_uri=jwks_server.url("/moved"))
    jwks_server.documents["/moved"] = jwks_server.documents.pop("/keys")
    with pytest.raises(Unauthenticated):
        await verifier.verify(new.token())
    assert len(jwks_server.requested_paths) == 2, "a fetch for an unknown kid is not repeated at once"
    clock.advance(POLICY.min_interval_seconds)
    assert await verifier.verify(new.token())
    assert jwks_server.requested_paths[2:] == [OPENID_PATH, "/moved"]
    jwks_server.status = 503
    clock.advance(POLICY.fresh_seconds)
    assert await verifier.verify(new.token(jti="in an outage"))
    clock.advance(POLICY.usable_seconds)
    with pytest.raises(Throttled):
        await verifier.verify(new.token(jti="after an hour"))


@pytest.fixture
def authority(tmp_path: Path) -> CertificateAuthority:
    return CertificateAuthority(tmp_path)


@pytest.fixture
def tls_server(authority: CertificateAuthority) -> Iterator[JwksServer]:
    with running_jwks_server(authority.server_context(HOST)) as server:
        yield server


def fetcher(authority: CertificateAuthority, addresses: dict[str, str]) -> JwksFetcher:
    """Returns a fetcher for which 127.0.0.1 counts as public. `addresses` has the address of each host name."""
    context = authority.client_context()
    return JwksFetcher(
        egress=EgressPolicy(
            is_allowed=lambda address: address == "127.0.0.1" or is_public_address(address),
            resolve=lambda host, _port: [addresses.get(host, host)],
            tls_context=lambda: context,
        )
    )


async def test_the_keys_of_a_tenants_issuer_are_discovered(
    authority: CertificateAuthority, tls_server: JwksServer, provider: IdentityProvider
) -> None:
    issuer = f"https://{HOST}:{tls_server.server_port}"
    publish(tls_server, issuer, provider.jwks(), jwks_uri=f"{issuer}/keys")
    keys = fetcher(authority, {HOST: "127.0.0.1"}).key_set(None, issuer)
    assert await keys.find("k1") is not None


@pytest.mark.parametrize(
    "uri",
    [
        "http://id.acme.example:{}/keys",
        "http://127.0.0.1:{}/keys",
        "https://127.0.0.1:{}/keys",
        "https://[::1]:{}/keys",
        "https://2130706433:{}/keys",
        "https://10.0.0.1:{}/keys",
        "https://internal.example:{}/keys",
    ],
)
async def test_the_metadata_of_a_tenants_issuer_lead_to_no_private_address(
    authority: CertificateAuthority, tls_server: JwksServer, provider: IdentityProvider, uri: str
) -> None:
    issuer = f"https://{HOST}:{tls_server.server_port}"
    publish(tls_server, issuer, provider.jwks(), jwks_uri=uri.format(tls_server.server_port))
    hosts = {HOST: "127.0.0.1", "internal.example": "10.0.0.1"}
    with pytest.raises(Throttled):
        await fetcher(authority, hosts).key_set(None, issuer).find("k1")
    assert tls_server.connections == 1


async def test_the_metadata_of_a_tenants_issuer_are_not_fetched_from_a_private_address(
    authority: CertificateAuthority, tls_server: JwksServer
) -> None:
    issuer = f"https://{HOST}:{tls_server.server_port}"
    with pytest.raises(Throttled):
        await fetcher(authority, {HOST: "10.0.0.1"}).key_set(None, issuer).find("k1")
    assert tls_server.connections == 0


@pytest.mark.parametrize(
    "issuer", ["https://127.0.0.1", "http://id.example", "https://id.example?x", "https://a@b.example"]
)
def test_a_tenants_issuer_without_a_public_https_url_is_not_discovered(issuer: str) -> None:
    with pytest.raises(BadJwksUri):
        DiscoveredJwks.of(issuer, parse_tenant_uri)
