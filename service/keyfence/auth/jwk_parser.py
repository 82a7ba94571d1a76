"""Parses JSON Web Keys (JWK) and key sets (JWKS), and decides which algorithms a key may verify."""

from collections import Counter
from collections.abc import Iterable, Mapping

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt import PyJWK
from jwt.algorithms import AllowedPublicKeys
from jwt.exceptions import PyJWTError

from keyfence.auth.signature_algorithms import ALGORITHMS_BY_KEY_TYPE, VerificationKey

MAX_KID_LENGTH = 256
MIN_RSA_BITS = 2048
MAX_RSA_BITS = 8192
MAX_RSA_EXPONENT = 2**32
"""Limits on RSA keys. Keys come from others too: with larger numbers, each verification would take milliseconds."""

_PRIVATE_MEMBERS = frozenset({"d", "p", "q", "dp", "dq", "qi", "oth", "k"})


class UnusableKey(ValueError):
    """A JWK is not a public signing key of an accepted type and strength."""


def parse_jwk(jwk: object) -> VerificationKey:
    """Raises UnusableKey, with the reason, if the JWK cannot be used."""
    if not isinstance(jwk, dict):
        raise UnusableKey("a key is a JSON object")
    _require_public_signing_key(jwk)
    algorithms = _algorithms(jwk)
    return VerificationKey(kid=_kid(jwk), public=_public(jwk, min(algorithms)), algorithms=algorithms)


def _kid(jwk: Mapping[str, object]) -> str:
    kid = jwk.get("kid")
    if not isinstance(kid, str) or not 0 < len(kid) <= MAX_KID_LENGTH:
        raise UnusableKey(f"a key needs a kid of 1 to {MAX_KID_LENGTH} characters")
    return kid


def _require_public_signing_key(jwk: Mapping[str, object]) -> None:
    if not _PRIVATE_MEMBERS.isdisjoint(jwk):
        raise UnusableKey("a key contains private or symmetric material; publish only the public part")
    if jwk.get("use", "sig") != "sig":
        raise UnusableKey("a key's use must be sig")
    operations = jwk.get("key_ops", ["verify"])
    if not isinstance(operations, list) or "verify" not in operations:
        raise UnusableKey("a key's key_ops must include verify")


def _algorithms(jwk: Mapping[str, object]) -> frozenset[str]:
    """Returns the algorithms of the key's type, or only the one in `alg` if the key has it."""
    fitting = ALGORITHMS_BY_KEY_TYPE.get("RSA" if jwk.get("kty") == "RSA" else f"{jwk.get('kty')} {jwk.get('crv')}")
    if fitting is None:
        raise UnusableKey("a key is RSA, EC on P-256, P-384 or P-521, or OKP on Ed25519 or Ed448")
    named = jwk.get("alg")
    if named is None:
        return fitting
    if not isinstance(named, str) or named not in fitting:
        raise UnusableKey("a key's alg does not fit its kty and crv")
    return frozenset({named})


def _public(jwk: dict[str, object], algorithm: str) -> AllowedPublicKeys:
    try:
        public: AllowedPublicKeys = PyJWK(jwk, algorithm=algorithm).key
    except (PyJWTError, ValueError, TypeError, KeyError):
        raise UnusableKey("a key's numbers cannot be read") from None
    if isinstance(public, RSAPublicKey):
        _require_safe_size(public)
    return public


def _require_safe_size(public: RSAPublicKey) -> None:
    if not MIN_RSA_BITS <= public.key_size <= MAX_RSA_BITS:
        raise UnusableKey(f"an RSA key has at least {MIN_RSA_BITS} bits and at most {MAX_RSA_BITS}")
    if public.public_numbers().e > MAX_RSA_EXPONENT:
        raise UnusableKey(f"an RSA key's exponent is at most {MAX_RSA_EXPONENT:,}")


class MalformedJwks(ValueError):
    """A document is not a usable key set."""


def parse_jwks_leniently(document: object) -> Mapping[str, VerificationKey]:
    """Returns the usable keys of a set and ignores the others. If two keys have the same kid, neither is used."""
    keys = [key for key in map(_find_signing_key, _entries(document)) if key is not None]
    shared = _shared_kids(keys)
    return {key.kid: key for key in keys if key.kid not in shared}


def parse_jwks_strictly(document: object) -> Mapping[str, VerificationKey]:
    """Returns the keys of a set. Raises UnusableKey or MalformedJwks if any of them cannot be used."""
    keys = [parse_jwk(entry) for entry in _entries(document)]
    if not keys:
        raise MalformedJwks("a JWKS has at least one key")
    if shared := _shared_kids(keys):
        raise MalformedJwks(f"a JWKS has two keys under one kid: {', '.join(sorted(shared))}")
    return {key.kid: key for key in keys}


def _entries(document: object) -> list[object]:
    entries = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(entries, list):
        raise MalformedJwks("a JWKS is a JSON object with a list of keys")
    return entries


def _find_signing_key(entry: object) -> VerificationKey | None:
    try:
        return parse_jwk(entry)
    except UnusableKey:
        return None


def _shared_kids(keys: Iterable[VerificationKey]) -> frozenset[str]:
    return frozenset(kid for kid, count in Counter(key.kid for key in keys).items() if count > 1)
