"""The token of an Authorization header, and `UnverifiedToken`: its parts before the signature is verified."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import orjson
from jwt import PyJWS
from jwt.exceptions import PyJWTError

from keyfence.auth.jwk_parser import MAX_KID_LENGTH
from keyfence.auth.signature_algorithms import ALGORITHMS
from keyfence.errors import Unauthenticated

MAX_TOKEN_LENGTH = 8 * 1024
NOT_A_JWT = f"the token is not a readable JWT of at most {MAX_TOKEN_LENGTH} characters"

_COMPACT = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*")
"""Three parts in base64url without padding. PyJWT accepts padding; then one token would have several texts."""

_JWS = PyJWS()


def bearer_token(authorization: str | None) -> str:
    """Returns the token of an Authorization header. Raises Unauthenticated if there is none."""
    scheme, _, token = (authorization or "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise Unauthenticated("send a token: Authorization: Bearer <JWT>")
    return token.strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class UnverifiedToken:
    """The parts of a JWT whose signature is not verified yet. `content` is what the signature signs."""

    algorithm: str
    kid: str
    claims: Mapping[str, object]
    content: bytes
    signature: bytes


def parse_token(token: str) -> UnverifiedToken:
    """Raises Unauthenticated if the token is not a JWT in compact form with an accepted algorithm and a kid."""
    header, claims, signature = _parts(token)
    if "crit" in header:
        raise Unauthenticated("the token requires extensions (crit) that are not supported")
    return UnverifiedToken(
        algorithm=_algorithm(header),
        kid=_kid(header),
        claims=claims,
        content=token.rpartition(".")[0].encode(),
        signature=signature,
    )


def _parts(token: str) -> tuple[dict[str, object], dict[str, object], bytes]:
    if not _COMPACT.fullmatch(token):
        raise Unauthenticated(NOT_A_JWT)
    try:
        parts = _JWS.decode_complete(token, options={"verify_signature": False})
        claims = orjson.loads(parts["payload"])
    except (PyJWTError, ValueError, RecursionError):
        raise Unauthenticated(NOT_A_JWT) from None
    if not isinstance(claims, dict):
        raise Unauthenticated(NOT_A_JWT)
    return parts["header"], claims, parts["signature"]


def _algorithm(header: Mapping[str, object]) -> str:
    algorithm = header.get("alg")
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        raise Unauthenticated("the token's algorithm is not accepted")
    return algorithm


def _kid(header: Mapping[str, object]) -> str:
    kid = header.get("kid")
    if not isinstance(kid, str) or not 0 < len(kid) <= MAX_KID_LENGTH:
        raise Unauthenticated("the token does not name its signing key (kid)")
    return kid
