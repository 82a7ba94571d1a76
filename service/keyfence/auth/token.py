"""Bearer header, JWS compact form, claims, claims to principal."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import orjson
from jwt import PyJWS
from jwt.exceptions import PyJWTError

from keyfence.auth.issuer import Issuer
from keyfence.auth.jwks import ALGORITHMS, MAX_KID_LENGTH
from keyfence.auth.principal import Operator, Principal, Role
from keyfence.errors import Unauthenticated
from keyfence_iam.tenant import InvalidTenantId, TenantId, parse_tenant_id


def bearer_token(authorization: str | None) -> str:
    scheme, _, token = (authorization or "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise Unauthenticated("send a token: Authorization: Bearer <JWT>")
    return token.strip()


MAX_TOKEN_LENGTH = 8 * 1024
NOT_A_JWT = f"the token is not a JWT of at most {MAX_TOKEN_LENGTH} characters that we can read"

_COMPACT = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*")
"""Without padding, which PyJWT would take: one token has one spelling."""

_JWS = PyJWS()


@dataclass(frozen=True, slots=True, kw_only=True)
class UnverifiedToken:
    algorithm: str
    kid: str
    claims: Mapping[str, object]
    content: bytes
    signature: bytes


def parse_token(token: str) -> UnverifiedToken:
    header, claims, signature = _parts(token)
    if "crit" in header:
        raise Unauthenticated("the token asks for extensions (crit) that are not understood")
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


CLOCK_SKEW = 10
MAX_TOKEN_LIFETIME = 30 * 86_400
"""What is known of a revoked token is kept as long, so none may live longer."""
MAX_CLAIM_LENGTH = 256
_LATEST = 2**53
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*")
"""The scope syntax of RFC 6749, section 3.3."""

Document = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """`tenant` and `role` are as the issuer wrote them: whoever admits the caller checks them."""

    subject: str
    token_id: str
    expires_at: int
    scopes: frozenset[str]
    tenant: object
    role: object


def read_claims(document: Document, *, audience: str, now: float) -> Claims:
    _demand_audience(document, audience)
    expires_at = _demand_times(document, now)
    return Claims(
        subject=_text(document, "sub"),
        token_id=_text(document, "jti"),
        expires_at=expires_at,
        scopes=_scopes(document),
        tenant=document.get("tenant"),
        role=document.get("role"),
    )


def _demand_audience(document: Document, audience: str) -> None:
    """A token for several audiences is refused: any of the others could replay it here."""
    if _present(document, "aud") not in (audience, [audience]):
        raise Unauthenticated("the token is meant for another audience")


def _demand_times(document: Document, now: float) -> int:
    expires_at = _instant(document, "exp")
    if now >= expires_at + CLOCK_SKEW:
        raise Unauthenticated("the token has expired")
    issued_at = _instant(document, "iat")
    if issued_at > now + CLOCK_SKEW:
        raise Unauthenticated("the token was issued in the future")
    if expires_at - issued_at > MAX_TOKEN_LIFETIME:
        raise Unauthenticated(f"the token lives longer than {MAX_TOKEN_LIFETIME} seconds")
    if document.get("nbf") is not None and _instant(document, "nbf") > now + CLOCK_SKEW:
        raise Unauthenticated("the token is not valid yet")
    return expires_at


def _present(document: Document, name: str) -> object:
    value = document.get(name)
    if value is None:
        raise Unauthenticated(f"the token has no {name} claim")
    return value


def _instant(document: Document, name: str) -> int:
    value = _present(document, name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _LATEST:
        raise Unauthenticated(f"the token's {name} claim is not a time in epoch seconds")
    return int(value)


def _text(document: Document, name: str) -> str:
    value = _present(document, name)
    if not isinstance(value, str) or not 0 < len(value) <= MAX_CLAIM_LENGTH or not value.isprintable():
        raise Unauthenticated(f"the token's {name} claim is not 1 to {MAX_CLAIM_LENGTH} printable characters")
    return value


def _scopes(document: Document) -> frozenset[str]:
    value = document.get("scope")
    if value is None or value == "":
        return frozenset()
    if not isinstance(value, str) or not _SCOPE.fullmatch(value):
        raise Unauthenticated("the token's scope claim is not a list of words with single spaces between them")
    return frozenset(value.split(" "))


def principal_from(claims: Claims, issuer: Issuer) -> Principal:
    return Principal(
        tenant=_tenant(claims, issuer),
        subject=claims.subject,
        role=_role(claims),
        token_id=claims.token_id,
        expires_at=claims.expires_at,
        scopes=claims.scopes,
    )


def operator_from(claims: Claims, issuer: Issuer) -> Operator:
    if claims.tenant is not None or issuer.tenant is not None:
        raise Unauthenticated("a tenant's token does not open the operators' door")
    return Operator(
        subject=claims.subject, token_id=claims.token_id, expires_at=claims.expires_at, scopes=claims.scopes
    )


def _tenant(claims: Claims, issuer: Issuer) -> TenantId:
    try:
        tenant = parse_tenant_id(claims.tenant)
    except InvalidTenantId:
        raise Unauthenticated("the token's tenant claim is not a tenant id") from None
    if issuer.tenant not in (None, tenant):
        raise Unauthenticated("the token's issuer does not speak for its tenant")
    return tenant


def _role(claims: Claims) -> Role:
    if not isinstance(claims.role, str) or claims.role not in Role.__members__:
        raise Unauthenticated("the token's role claim is not one of OWNER, ADMIN, MEMBER and VIEWER")
    return Role(claims.role)
