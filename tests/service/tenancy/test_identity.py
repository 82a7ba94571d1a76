"""What a tenant is known by is public, usable and nobody else's."""

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


def known_by(issuer: str = ISSUER, jwks: object = JWKS, jwks_uri: str | None = None) -> TenantIssuer:
    return new_tenant_issuer(ACME, issuer, jwks, jwks_uri, NOW)


def test_an_identity_says_whose_it_is_and_keeps_its_keys_as_text() -> None:
    identity = known_by()
    assert (identity.tenant, identity.issuer, identity.digest) == (ACME, ISSUER, issuer_digest(ISSUER))
    assert (identity.created_at, identity.updated_at, identity.version) == (NOW, NOW, 1)
    assert json.loads(identity.jwks or "") == JWKS
    assert identity.jwks_uri is None


def test_an_identity_keeps_the_address_of_its_keys_as_it_was_given() -> None:
    identity = known_by(jwks=None, jwks_uri=JWKS_URI)
    assert (identity.jwks, identity.jwks_uri) == (None, JWKS_URI)


def test_only_what_is_public_of_a_key_is_kept() -> None:
    more = {"keys": [KEY | {"x5c": ["c2VjcmV0"], "note": "c2VjcmV0"}], "secret": "c2VjcmV0"}
    assert known_by(jwks=more).jwks == known_by().jwks


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
def test_an_issuer_is_kept_letter_by_letter(issuer: str) -> None:
    assert known_by(issuer).issuer == issuer


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
def test_what_no_token_should_be_issued_by_is_refused_by_name(issuer: str) -> None:
    assert refused(issuer=issuer) == "issuer"


def test_an_issuer_of_ours_cannot_be_claimed() -> None:
    assert refused(issuer=DEVELOPMENT_ISSUER) == "issuer"
    with pytest.raises(BadInput) as refusal:
        new_tenant_issuer(ACME, ISSUER, JWKS, None, NOW, reserved_issuers={ISSUER})
    assert refusal.value.extensions == {"field": "issuer"}


def test_a_development_key_is_refused_unless_it_is_allowed() -> None:
    development = {"keys": [KEY, KEY | {"kid": "dev-0123456789abcdef"}]}
    assert refused(jwks=development) == "jwks"
    identity = new_tenant_issuer(ACME, ISSUER, development, None, NOW, allow_development_keys=True)
    assert json.loads(identity.jwks or "") == development


def test_exactly_one_of_keys_and_address_is_to_be_given() -> None:
    assert refused(jwks=None) == "jwks"
    assert refused(jwks_uri=JWKS_URI) == "jwksUri"


@pytest.mark.parametrize("uri", ["", "http://id.acme.example/jwks", "https://127.0.0.1/jwks", "https://a@b.example/"])
def test_an_address_that_keys_are_not_fetched_from_is_refused_by_name(uri: str) -> None:
    assert refused(jwks=None, jwks_uri=uri) == "jwksUri"


RSA_PRIVATE: Json = RSAAlgorithm.to_jwk(rsa.generate_private_key(public_exponent=65537, key_size=2048), as_dict=True)
HOSTILE: dict[str, object] = {
    "nothing": {},
    "a list": [KEY],
    "text": json.dumps(JWKS),
    "a number": 7,
    "no keys": {"keys": []},
    "keys are an object": {"keys": KEY},
    "a key is text": {"keys": ["k1"]},
    "a private EC key": {"keys": [{**ECAlgorithm.to_jwk(PRIVATE, as_dict=True), "kid": "k1"}]},
    "a private RSA key": {"keys": [RSA_PRIVATE | {"kid": "k1"}]},
    "a private key among public ones": {"keys": [KEY, KEY | {"kid": "k2", "d": "c2VjcmV0"}]},
    "a symmetrical key": {"keys": [{"kty": "oct", "kid": "k1", "k": "c2VjcmV0c2VjcmV0c2VjcmV0"}]},
    "a symmetrical key without its value": {"keys": [{"kty": "oct", "kid": "k1", "alg": "HS256"}]},
    "two keys under one kid": {"keys": [KEY, KEY]},
    "no kid": {"keys": [{name: value for name, value in KEY.items() if name != "kid"}]},
    "a key for something else": {"keys": [KEY | {"use": "enc"}]},
    "too many keys": {"keys": [KEY | {"kid": f"k{number}"} for number in range(MAX_KEYS + 1)]},
    "too much": JWKS | {"more": "x" * MAX_JWKS_BYTES},
    "a number that is too large": JWKS | {"more": 10**100},
}


@pytest.mark.parametrize("jwks", HOSTILE.values(), ids=HOSTILE.keys())
def test_keys_that_nobody_should_be_known_by_are_refused_by_name(jwks: object) -> None:
    assert refused(jwks=jwks) == "jwks"


@pytest.mark.parametrize("jwks", HOSTILE.values(), ids=HOSTILE.keys())
def test_what_is_refused_is_not_repeated(jwks: object) -> None:
    with pytest.raises(BadInput) as refusal:
        known_by(jwks=jwks)
    assert "c2VjcmV0" not in refusal.value.message
    assert KEY["x"] not in refusal.value.message


def test_as_many_keys_as_are_allowed_are_taken() -> None:
    assert known_by(jwks={"keys": [KEY | {"kid": f"k{number}"} for number in range(MAX_KEYS)]}).jwks


def test_a_private_key_is_refused_in_words_that_say_so() -> None:
    with pytest.raises(BadInput, match="private or symmetric"):
        known_by(jwks=HOSTILE["a private EC key"])


def refused(**given: Any) -> object:
    with pytest.raises(BadInput) as refusal:
        known_by(**given)
    return refusal.value.extensions["field"]
