"""A tenant can register an issuer with a valid URL and public keys, unless the URL is reserved."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from keyfence.auth.issuer import MAX_ISSUER_LENGTH
from keyfence.development_keys import DEVELOPMENT_ISSUER
from keyfence.errors import BadInput
from keyfence.tenancy.issuer_registration import (
    MAX_JWKS_BYTES,
    MAX_KEYS,
    MAX_MAPPING_BYTES,
    TenantIssuer,
    issuer_digest,
    new_tenant_issuer,
)
from keyfence_iam.tenant import TenantId

Json = dict[str, Any]

NOW = datetime(2026, 5, 1, tzinfo=UTC)
ACME = TenantId("acme")
ISSUER = "https://id.acme.example/realms/acme"
JWKS_URI = "https://id.acme.example/jwks"
PRIVATE = ec.generate_private_key(ec.SECP256R1())
KEY: Json = {**ECAlgorithm.to_jwk(PRIVATE.public_key(), as_dict=True), "kid": "k1", "alg": "ES256", "use": "sig"}
JWKS: Json = {"keys": [KEY]}


def new_issuer(issuer: str = ISSUER, jwks: object = JWKS, jwks_uri: str | None = None) -> TenantIssuer:
    return new_tenant_issuer(ACME, issuer, jwks, jwks_uri, NOW)


def test_an_issuer_has_its_tenant_and_stores_its_keys_as_text() -> None:
    issuer = new_issuer()
    assert (issuer.tenant, issuer.issuer, issuer.digest) == (ACME, ISSUER, issuer_digest(ISSUER))
    assert (issuer.created_at, issuer.updated_at, issuer.version) == (NOW, NOW, 1)
    assert json.loads(issuer.jwks or "") == JWKS
    assert issuer.jwks_uri is None


def test_an_issuer_stores_its_jwks_uri_unchanged() -> None:
    issuer = new_issuer(jwks=None, jwks_uri=JWKS_URI)
    assert (issuer.jwks, issuer.jwks_uri) == (None, JWKS_URI)


def test_only_the_public_members_of_a_key_are_stored() -> None:
    jwks = {"keys": [KEY | {"x5c": ["c2VjcmV0"], "note": "c2VjcmV0"}], "secret": "c2VjcmV0"}
    assert new_issuer(jwks=jwks).jwks == new_issuer().jwks


@pytest.mark.parametrize(
    "issuer",
    [
        ISSUER,
        "https://id.acme.example",
        "https://id.acme.example/",
        "https://ID.acme.example",
        "https://id.acme.example:8443/x",
        "https://[2606:4700::1]/x",
        "https://login.example/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0",
        "https://id.acme.example/".ljust(MAX_ISSUER_LENGTH, "x"),
    ],
)
def test_the_url_of_an_issuer_is_stored_unchanged(issuer: str) -> None:
    assert new_issuer(issuer).issuer == issuer


@pytest.mark.parametrize(
    "issuer",
    [
        "",
        "acme",
        "id.acme.example",
        "http://id.acme.example",
        "HTTPS://id.acme.example",
        "https://",
        "https:///acme",
        "https://user@id.acme.example",
        "https://id.acme.example?tenant=acme",
        "https://id.acme.example#acme",
        "https://id.acme.example/a b",
        "https://id.acme.example\n",
        " https://id.acme.example",
        "https://id.acme.example/\u00e9",
        "https://id.acme.example/\ud800",
        "https://id.acme.example/\x00",
        "https://id.acme.example/".ljust(MAX_ISSUER_LENGTH + 1, "x"),
    ],
)
def test_a_malformed_issuer_url_is_refused(issuer: str) -> None:
    assert refused_field(issuer=issuer) == "issuer"


def test_an_issuer_of_the_service_cannot_be_registered() -> None:
    assert refused_field(issuer=DEVELOPMENT_ISSUER) == "issuer"
    with pytest.raises(BadInput) as refusal:
        new_tenant_issuer(ACME, ISSUER, JWKS, None, NOW, reserved_issuers={ISSUER})
    assert refusal.value.extensions == {"field": "issuer"}


def test_a_development_key_is_refused_unless_it_is_allowed() -> None:
    development_jwks = {"keys": [KEY, KEY | {"kid": "dev-0123456789abcdef"}]}
    assert refused_field(jwks=development_jwks) == "jwks"
    issuer = new_tenant_issuer(ACME, ISSUER, development_jwks, None, NOW, allow_development_keys=True)
    assert json.loads(issuer.jwks or "") == development_jwks


def test_jwks_and_jwks_uri_exclude_each_other() -> None:
    assert refused_field(jwks_uri=JWKS_URI) == "jwksUri"


def test_an_issuer_without_keys_is_discovered_unless_its_metadata_are_at_a_private_address() -> None:
    discovered = new_issuer(jwks=None)
    assert (discovered.jwks, discovered.jwks_uri) == (None, None)
    for issuer in ("https://127.0.0.1", "https://10.0.0.1/realms/acme", "https://2130706433/"):
        assert new_issuer(issuer).issuer == issuer
        assert refused_field(issuer=issuer, jwks=None) == "issuer"


MAPPING: Json = {"claims": {"tenant": "org_id"}, "tenants": {"org_1": "acme"}, "default_role": "VIEWER"}


def test_a_mapping_is_stored_as_text_in_one_order() -> None:
    reordered = dict(reversed(MAPPING.items()))
    texts = {
        new_tenant_issuer(ACME, ISSUER, JWKS, None, NOW, mapping=mapping).mapping for mapping in (MAPPING, reordered)
    }
    assert [json.loads(text or "") for text in texts] == [MAPPING]


@pytest.mark.parametrize("mapping", [None, {}])
def test_no_mapping_and_an_empty_mapping_are_stored_alike(mapping: object) -> None:
    assert new_tenant_issuer(ACME, ISSUER, JWKS, None, NOW, mapping=mapping).mapping is None


@pytest.mark.parametrize(
    "mapping",
    [
        [],
        "claims",
        {"tenants": {"org_1": "acme", "org_2": "globex"}},
        {"tenant": "globex"},
        {"claims": {"tenant": "x" * MAX_MAPPING_BYTES}},
        {"tenants": {f"org_{number}": "acme" for number in range(MAX_MAPPING_BYTES // 16)}},
        {"default_role": 10**100},
    ],
    ids=["list", "text", "a neighbour", "a constant", "long claim", "too many bytes", "large number"],
)
def test_an_invalid_mapping_is_refused(mapping: object) -> None:
    with pytest.raises(BadInput) as refusal:
        new_tenant_issuer(ACME, ISSUER, JWKS, None, NOW, mapping=mapping)
    assert refusal.value.extensions["field"] == "mapping"


def test_a_key_for_encryption_is_not_stored() -> None:
    encryption_key = KEY | {"kid": "enc", "use": "enc", "alg": "ECDH-ES"}
    assert new_issuer(jwks={"keys": [encryption_key, KEY]}).jwks == new_issuer().jwks


@pytest.mark.parametrize("uri", ["", "http://id.acme.example/jwks", "https://127.0.0.1/jwks", "https://a@b.example/"])
def test_a_jwks_uri_that_keys_must_not_be_fetched_from_is_refused(uri: str) -> None:
    assert refused_field(jwks=None, jwks_uri=uri) == "jwksUri"


RSA_PRIVATE: Json = RSAAlgorithm.to_jwk(rsa.generate_private_key(public_exponent=65537, key_size=2048), as_dict=True)
INVALID_JWKS: dict[str, object] = {
    "an empty object": {},
    "a list": [KEY],
    "text": json.dumps(JWKS),
    "a number": 7,
    "no keys": {"keys": []},
    "keys are an object": {"keys": KEY},
    "a key is text": {"keys": ["k1"]},
    "a private EC key": {"keys": [{**ECAlgorithm.to_jwk(PRIVATE, as_dict=True), "kid": "k1"}]},
    "a private RSA key": {"keys": [RSA_PRIVATE | {"kid": "k1"}]},
    "a private key among public ones": {"keys": [KEY, KEY | {"kid": "k2", "d": "c2VjcmV0"}]},
    "a symmetric key": {"keys": [{"kty": "oct", "kid": "k1", "k": "c2VjcmV0c2VjcmV0c2VjcmV0"}]},
    "a symmetric key without its value": {"keys": [{"kty": "oct", "kid": "k1", "alg": "HS256"}]},
    "two keys with the same kid": {"keys": [KEY, KEY]},
    "no kid": {"keys": [{name: value for name, value in KEY.items() if name != "kid"}]},
    "a key for encryption": {"keys": [KEY | {"use": "enc"}]},
    "too many keys": {"keys": [KEY | {"kid": f"k{number}"} for number in range(MAX_KEYS + 1)]},
    "too many bytes": JWKS | {"more": "x" * MAX_JWKS_BYTES},
    "a number that is too large": JWKS | {"more": 10**100},
}


@pytest.mark.parametrize("jwks", INVALID_JWKS.values(), ids=INVALID_JWKS.keys())
def test_invalid_keys_are_refused(jwks: object) -> None:
    assert refused_field(jwks=jwks) == "jwks"


@pytest.mark.parametrize("jwks", INVALID_JWKS.values(), ids=INVALID_JWKS.keys())
def test_the_error_does_not_contain_the_refused_keys(jwks: object) -> None:
    with pytest.raises(BadInput) as refusal:
        new_issuer(jwks=jwks)
    assert "c2VjcmV0" not in refusal.value.message
    assert KEY["x"] not in refusal.value.message


def test_the_maximum_number_of_keys_is_accepted() -> None:
    assert new_issuer(jwks={"keys": [KEY | {"kid": f"k{number}"} for number in range(MAX_KEYS)]}).jwks


def test_the_error_says_that_a_key_is_private() -> None:
    with pytest.raises(BadInput, match="private or symmetric"):
        new_issuer(jwks=INVALID_JWKS["a private EC key"])


def refused_field(**arguments: Any) -> object:
    with pytest.raises(BadInput) as refusal:
        new_issuer(**arguments)
    return refusal.value.extensions["field"]
