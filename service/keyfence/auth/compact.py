"""A token in its compact form, read but not yet believed."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import orjson
from jwt import PyJWS
from jwt.exceptions import PyJWTError

from keyfence.auth.signing_key import ALGORITHMS, MAX_KID
from keyfence.errors import Unauthenticated

MAX_TOKEN = 8 * 1024
NOT_A_JWT = f"the token is not a JWT of at most {MAX_TOKEN} characters that we can read"

_COMPACT = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*")
"""Without padding, which PyJWT would take: one token has one spelling."""

_JWS = PyJWS()


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactToken:
    algorithm: str
    kid: str
    claims: Mapping[str, object]
    content: bytes
    signature: bytes


def read_compact(token: str) -> CompactToken:
    header, claims, signature = _parts(token)
    if "crit" in header:
        raise Unauthenticated("the token asks for extensions (crit) that are not understood")
    return CompactToken(
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
    if not isinstance(kid, str) or not 0 < len(kid) <= MAX_KID:
        raise Unauthenticated("the token does not name its signing key (kid)")
    return kid
