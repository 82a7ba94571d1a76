"""Parses JSON Web Keys (JWK) and key sets (JWKS). Refuses keys that are weak, private, or of a type not accepted."""

from collections import Counter
from collections.abc import Iterable, Mapping

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from jwt import PyJWK
from jwt.algorithms import AllowedPublicKeys
from jwt.exceptions import PyJWTError

from keyfence.auth.key_set import ACCEPTED_ALGORITHMS, ALGORITHMS_BY_KEY_TYPE, VerificationKey

MAX_KID_LENGTH = 256
"""How many characters the id of a key may have."""

MIN_RSA_BITS = 2048
MAX_RSA_BITS = 8192
MAX_RSA_EXPONENT = 2**32
"""Upper limits on RSA keys. A tenant chooses its keys, and with larger numbers a verification takes milliseconds."""

_PRIVATE_MEMBERS = frozenset({"d", "p", "q", "dp", "dq", "qi", "oth", "k"})
"""Members of a JWK that contain a private or a symmetric key (RFC 7518, section 6)."""


class UnusableKey(ValueError):
    """A JWK that is not a public signing key of an accepted type and strength. The message has the reason."""


class OtherPurposeKey(UnusableKey):
    """A public key that is not for signatures, or that is for an algorithm that is not accepted."""


def parse_jwk(jwk: object) -> VerificationKey:
    """Returns the key. Raises UnusableKey if signatures must not be verified with this JWK."""
    if not isinstance(jwk, dict):
        raise UnusableKey("a key must be a JSON object")
    _require_public_signing_key(jwk)
    algorithms = _algorithms(jwk)
    # PyJWT needs one algorithm to read a key. All algorithms of a key type read the same numbers.
    return VerificationKey(kid=_kid(jwk), public_key=_public_key(jwk, min(algorithms)), algorithms=algorithms)


def _kid(jwk: Mapping[str, object]) -> str:
    kid = jwk.get("kid")
    if not isinstance(kid, str) or not 0 < len(kid) <= MAX_KID_LENGTH:
        raise UnusableKey(f"a key needs a kid of 1 to {MAX_KID_LENGTH} characters")
    return kid


def _require_public_signing_key(jwk: Mapping[str, object]) -> None:
    if not _PRIVATE_MEMBERS.isdisjoint(jwk):
        raise UnusableKey("a key contains private or symmetric material; publish only the public part")
    if jwk.get("use", "sig") != "sig":
        raise OtherPurposeKey("a key's use must be sig")
    operations = jwk.get("key_ops", ["verify"])
    if not isinstance(operations, list) or "verify" not in operations:
        raise UnusableKey("a key's key_ops must include verify")


def _algorithms(jwk: Mapping[str, object]) -> frozenset[str]:
    """Returns the algorithm in the key's `alg`, or all algorithms of the key's type if the key has no `alg`."""
    key_type = "RSA" if jwk.get("kty") == "RSA" else f"{jwk.get('kty')} {jwk.get('crv')}"
    algorithms_of_type = ALGORITHMS_BY_KEY_TYPE.get(key_type)
    if algorithms_of_type is None:
        raise OtherPurposeKey("a key must be RSA, EC on P-256, P-384 or P-521, or OKP on Ed25519 or Ed448")
    algorithm = jwk.get("alg")
    if algorithm is None:
        return algorithms_of_type
    if isinstance(algorithm, str) and algorithm not in ACCEPTED_ALGORITHMS:
        raise OtherPurposeKey("a key's alg is not accepted")
    if not isinstance(algorithm, str) or algorithm not in algorithms_of_type:
        raise UnusableKey("a key's alg does not fit its kty and crv")
    return frozenset({algorithm})


def _public_key(jwk: dict[str, object], algorithm: str) -> AllowedPublicKeys:
    try:
        public_key: AllowedPublicKeys = PyJWK(jwk, algorithm=algorithm).key
    except (PyJWTError, ValueError, TypeError, KeyError):
        raise UnusableKey("a key's numbers cannot be read") from None
    if isinstance(public_key, RSAPublicKey):
        _require_safe_size(public_key)
    return public_key


def _require_safe_size(public_key: RSAPublicKey) -> None:
    if not MIN_RSA_BITS <= public_key.key_size <= MAX_RSA_BITS:
        raise UnusableKey(f"an RSA key must have at least {MIN_RSA_BITS} bits and at most {MAX_RSA_BITS}")
    if public_key.public_numbers().e > MAX_RSA_EXPONENT:
        raise UnusableKey(f"an RSA key's exponent must be at most {MAX_RSA_EXPONENT:,}")


class MalformedJwks(ValueError):
    """A document that is not a usable key set. The message has the reason."""


def parse_jwks_leniently(document: object) -> Mapping[str, VerificationKey]:
    """Returns the usable keys of a key set by their kid. Keys that share a kid are left out, because a token names its
    key only by the kid. Raises MalformedJwks if the document is not a key set."""
    keys = [key for key in map(_parse_jwk_or_none, _jwks_entries(document)) if key is not None]
    shared_kids = _shared_kids(keys)
    return {key.kid: key for key in keys if key.kid not in shared_kids}


def parse_jwks_strictly(document: object) -> Mapping[str, VerificationKey]:
    """Returns the keys of `jwks_for_signatures` by their kid. Raises UnusableKey or MalformedJwks if any of them cannot
    be used."""
    keys = [parse_jwk(entry) for entry in jwks_for_signatures(document)]
    if not keys:
        raise MalformedJwks("a JWKS must have at least one key for signatures of an accepted algorithm")
    if shared_kids := _shared_kids(keys):
        raise MalformedJwks(f"a JWKS must not have two keys with the same kid: {', '.join(sorted(shared_kids))}")
    return {key.kid: key for key in keys}


def jwks_for_signatures(document: object) -> list[object]:
    """Returns the entries of a key set that are not for another purpose. The key sets of some providers also contain a
    key for encryption. Raises MalformedJwks if the document is not a key set."""
    return [entry for entry in _jwks_entries(document) if not _has_other_purpose(entry)]


def _has_other_purpose(entry: object) -> bool:
    try:
        parse_jwk(entry)
    except UnusableKey as error:
        return isinstance(error, OtherPurposeKey)
    return False


def _jwks_entries(document: object) -> list[object]:
    entries = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(entries, list):
        raise MalformedJwks('a JWKS must be a JSON object with a list of keys: {"keys": [...]}')
    return entries


def _parse_jwk_or_none(entry: object) -> VerificationKey | None:
    try:
        return parse_jwk(entry)
    except UnusableKey:
        return None


def _shared_kids(keys: Iterable[VerificationKey]) -> frozenset[str]:
    return frozenset(kid for kid, count in Counter(key.kid for key in keys).items() if count > 1)
