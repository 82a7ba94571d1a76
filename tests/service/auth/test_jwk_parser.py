"""Only public signing keys that are strong enough may verify tokens."""

import pytest

from keyfence.auth.jwk_parser import MalformedJwks, UnusableKey, parse_jwk, parse_jwks_leniently, parse_jwks_strictly
from tests.fakes.identity_provider import Json, base64url, jwk, private_key

RSA = jwk(private_key("RS256"), "rsa")
P256 = jwk(private_key("ES256"), "p256")
ED25519 = jwk(private_key("EdDSA"), "ed")
RSA_ALGORITHMS = {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"}

UNUSABLE: dict[str, object] = {
    "not an object": "key",
    "symmetric": {"kty": "oct", "kid": "x", "k": base64url(b"secret" * 8)},
    "RSA with private part": RSA | {"d": "AQAB"},
    "EC with private part": P256 | {"d": base64url(bytes(32))},
    "RSA with a prime": RSA | {"p": "AQAB"},
    "1024 bit RSA": jwk(private_key("RS256", bits=1024), "weak"),
    "for encryption": RSA | {"use": "enc"},
    "for wrapping": RSA | {"key_ops": ["wrapKey"]},
    "key_ops of another shape": RSA | {"key_ops": "verify"},
    "no kid": {name: value for name, value in RSA.items() if name != "kid"},
    "empty kid": RSA | {"kid": ""},
    "kid is a number": RSA | {"kid": 7},
    "kid that is too long": RSA | {"kid": "x" * 257},
    "HS256 on RSA": RSA | {"alg": "HS256"},
    "none on RSA": RSA | {"alg": "none"},
    "RSA-OAEP": RSA | {"alg": "RSA-OAEP"},
    "ES256 on RSA": RSA | {"alg": "ES256"},
    "ES384 on P-256": P256 | {"alg": "ES384"},
    "alg is a list": RSA | {"alg": ["RS256"]},
    "secp256k1": P256 | {"crv": "secp256k1"},
    "X25519": ED25519 | {"crv": "X25519"},
    "unknown type": RSA | {"kty": "QUANTUM"},
    "type is a list": RSA | {"kty": ["RSA"]},
    "point off the curve": P256 | {"y": P256["x"]},
    "no modulus": {name: value for name, value in RSA.items() if name != "n"},
    "modulus is a number": RSA | {"n": 5},
    "modulus is no base64": RSA | {"n": "!"},
    "empty OKP": ED25519 | {"x": ""},
    "modulus that takes milliseconds": RSA | {"n": base64url(b"\xff" * 1025)},
    "exponent that takes milliseconds": RSA | {"e": base64url(b"\x01" + b"\x00" * 3 + b"\x01")},
}


@pytest.mark.parametrize("key", UNUSABLE.values(), ids=UNUSABLE.keys())
def test_a_key_that_must_not_verify_tokens_is_refused(key: object) -> None:
    with pytest.raises(UnusableKey):
        parse_jwk(key)


@pytest.mark.parametrize("key", UNUSABLE.values(), ids=UNUSABLE.keys())
def test_a_usable_key_is_found_next_to_an_unusable_one(key: object) -> None:
    assert set(parse_jwks_leniently({"keys": [key, P256]})) == {"p256"}


@pytest.mark.parametrize(
    ("key", "algorithms"),
    [
        (RSA, RSA_ALGORITHMS),
        (RSA | {"alg": "PS256", "use": "sig", "key_ops": ["verify"]}, {"PS256"}),
        (P256, {"ES256"}),
        (jwk(private_key("ES384"), "p384"), {"ES384"}),
        (jwk(private_key("ES512"), "p521"), {"ES512"}),
        (ED25519, {"EdDSA"}),
        (jwk(private_key("EdDSA", "ed448"), "ed448"), {"EdDSA"}),
    ],
)
def test_a_key_allows_only_the_algorithms_of_its_type(key: Json, algorithms: set[str]) -> None:
    assert parse_jwk(key).algorithms == algorithms


def test_the_error_about_an_unusable_key_does_not_contain_it() -> None:
    with pytest.raises(UnusableKey) as refusal:
        parse_jwk(P256 | {"y": "c2VjcmV0"})
    assert "c2VjcmV0" not in str(refusal.value)
    assert refusal.value.__suppress_context__


def test_two_keys_with_the_same_kid_are_both_left_out() -> None:
    assert set(parse_jwks_leniently({"keys": [RSA, P256 | {"kid": "rsa"}, ED25519]})) == {"ed"}


@pytest.mark.parametrize("document", [None, [], "keys", {}, {"keys": {}}, {"keys": None}])
def test_a_document_without_a_list_of_keys_is_not_a_key_set(document: object) -> None:
    with pytest.raises(MalformedJwks):
        parse_jwks_leniently(document)


@pytest.mark.parametrize(
    "keys",
    [
        [],
        [RSA, RSA],
        [RSA | {"use": "enc"}],
        [RSA, RSA | {"kid": "other", "d": "AQAB", "use": "enc"}],
        [RSA | {"d": "AQAB"}],
        [RSA, P256 | {"alg": "ES384"}],
    ],
)
def test_a_strictly_parsed_set_is_refused_unless_all_signing_keys_are_usable(keys: list[Json]) -> None:
    with pytest.raises((MalformedJwks, UnusableKey)):
        parse_jwks_strictly({"keys": keys})


OTHER_PURPOSES = {
    "for encryption": RSA | {"kid": "enc", "use": "enc", "alg": "RSA-OAEP"},
    "an algorithm that is not accepted": RSA | {"kid": "old", "alg": "RSA1_5"},
    "a type that is not known": {"kty": "AKP", "kid": "new", "alg": "ML-DSA-65", "pub": "AQAB"},
    "a curve that is not accepted": P256 | {"kid": "curve", "crv": "secp256k1", "alg": "ES256K"},
    "the kid of a signing key": P256 | {"use": "enc", "alg": "ECDH-ES"},
}


@pytest.mark.parametrize("key", OTHER_PURPOSES.values(), ids=OTHER_PURPOSES.keys())
def test_a_key_for_another_purpose_is_left_out_of_every_set(key: Json) -> None:
    assert set(parse_jwks_strictly({"keys": [key, P256]})) == {"p256"}
    assert set(parse_jwks_leniently({"keys": [key, P256]})) == {"p256"}
