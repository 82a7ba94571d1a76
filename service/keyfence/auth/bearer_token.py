"""Reads the bearer token of an Authorization header and splits it into its parts. No signature is verified here."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from jwt import PyJWS
from jwt.exceptions import PyJWTError
from jwt.utils import base64url_decode

from keyfence.auth.jwk_parser import MAX_KID_LENGTH
from keyfence.auth.key_set import ACCEPTED_ALGORITHMS
from keyfence.errors import Unauthenticated
from keyfence_iam import strict_json
from keyfence_iam.strict_json import RepeatedKey

MAX_TOKEN_LENGTH = 8 * 1024
NOT_A_JWT_MESSAGE = f"the token is not a readable JWT of at most {MAX_TOKEN_LENGTH} characters"

_COMPACT_JWT = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*")
"""Three parts in base64url without padding. With padding, which PyJWT accepts, the same token could be written in
several ways, and each of them would be another entry of the token cache."""

ACCEPTED_TYPES = frozenset({"jwt", "application/jwt", "at+jwt", "application/at+jwt"})
"""The values of the header parameter `typ` in lower case. RFC 9068 defines `at+jwt` for access tokens. Tokens of other
types, such as logout tokens, have the same issuer and audience, but they are not for requests."""

_JWS = PyJWS()


def bearer_token(authorization: str | None) -> str:
    """Returns the token in the value of an Authorization header. Raises Unauthenticated if the value has no token."""
    scheme, _, token = (authorization or "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise Unauthenticated("send a token: Authorization: Bearer <JWT>")
    return token.strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class UnverifiedToken:
    """The parts of a JWT before its signature is verified. Anybody can have written them."""

    algorithm: str
    kid: str
    claims: Mapping[str, object]
    signed_content: bytes
    """The bytes that the signature covers: header and claims as they were sent."""
    signature: bytes


def parse_token(token: str) -> UnverifiedToken:
    """Raises Unauthenticated unless the token is a JWT in compact form with an accepted algorithm and a kid."""
    header, claims, signature = _split(token)
    if "crit" in header:
        raise Unauthenticated("the token requires extensions (crit) that are not supported")
    _require_accepted_type(header)
    return UnverifiedToken(
        algorithm=_algorithm(header),
        kid=_kid(header),
        claims=claims,
        signed_content=token.rpartition(".")[0].encode(),
        signature=signature,
    )


def _split(token: str) -> tuple[dict[str, object], dict[str, object], bytes]:
    """Returns the header, the claims and the signature of a JWT."""
    if not _COMPACT_JWT.fullmatch(token):
        raise Unauthenticated(NOT_A_JWT_MESSAGE)
    try:
        parts = _JWS.decode_complete(token, options={"verify_signature": False})
        # PyJWT has parsed the header too. But if a member occurs twice, PyJWT uses the last one, and another parser may
        # use the first one.
        header = strict_json.parse_object(base64url_decode(token.partition(".")[0]))
        claims = strict_json.parse_object(parts["payload"])
    except RepeatedKey:
        raise Unauthenticated("the token has a claim or a header parameter twice") from None
    except (PyJWTError, ValueError, RecursionError):
        raise Unauthenticated(NOT_A_JWT_MESSAGE) from None
    return header, claims, parts["signature"]


def _require_accepted_type(header: Mapping[str, object]) -> None:
    """A token without a type is accepted: Cognito, Okta and others send none."""
    token_type = header.get("typ")
    if token_type is not None and (not isinstance(token_type, str) or token_type.lower() not in ACCEPTED_TYPES):
        raise Unauthenticated("the token's type (typ) is not accepted")


def _algorithm(header: Mapping[str, object]) -> str:
    algorithm = header.get("alg")
    if not isinstance(algorithm, str) or algorithm not in ACCEPTED_ALGORITHMS:
        raise Unauthenticated("the token's algorithm is not accepted")
    return algorithm


def _kid(header: Mapping[str, object]) -> str:
    kid = header.get("kid")
    if not isinstance(kid, str) or not 0 < len(kid) <= MAX_KID_LENGTH:
        raise Unauthenticated("the token does not name its signing key (kid)")
    return kid
