"""`Claims` of a token: their checks (audience, times, form), and the caller that they identify."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from keyfence.auth.issuer import Issuer
from keyfence.auth.principal import Operator, Principal, Role
from keyfence.errors import Unauthenticated
from keyfence_iam.tenant import InvalidTenantId, TenantId, parse_tenant_id

CLOCK_SKEW = 10
MAX_TOKEN_LIFETIME = 30 * 86_400
"""A longer lifetime is refused, because a revocation is stored for this long."""
MAX_CLAIM_LENGTH = 256

_LATEST = 2**53
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*")
"""The scope syntax of RFC 6749, section 3.3."""

Document = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """Claims whose form and times are checked. `tenant` and `role` are unchecked: `principal_from` and `operator_from`
    check them."""

    subject: str
    token_id: str
    expires_at: int
    scopes: frozenset[str]
    tenant: object
    role: object


def read_claims(document: Document, *, audience: str, now: float) -> Claims:
    """Raises Unauthenticated if a claim is missing or malformed, the token is for another audience, or it is not valid
    at this time."""
    _require_audience(document, audience)
    expires_at = _require_valid_times(document, now)
    return Claims(
        subject=_text(document, "sub"),
        token_id=_text(document, "jti"),
        expires_at=expires_at,
        scopes=_scopes(document),
        tenant=document.get("tenant"),
        role=document.get("role"),
    )


def _require_audience(document: Document, audience: str) -> None:
    """Refuses a token for several audiences, because each of the others could send it here."""
    if _present(document, "aud") not in (audience, [audience]):
        raise Unauthenticated("the token is for another audience")


def _require_valid_times(document: Document, now: float) -> int:
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
        raise Unauthenticated("the token's scope claim is not a list of words separated by single spaces")
    return frozenset(value.split(" "))


def principal_from(claims: Claims, issuer: Issuer) -> Principal:
    """Returns the user that a token identifies. Raises Unauthenticated if the tenant or the role is malformed, or the
    issuer belongs to another tenant."""
    return Principal(
        tenant=_tenant(claims, issuer),
        subject=claims.subject,
        role=_role(claims),
        token_id=claims.token_id,
        expires_at=claims.expires_at,
        scopes=claims.scopes,
    )


def operator_from(claims: Claims, issuer: Issuer) -> Operator:
    """Returns the operator that a token identifies. Raises Unauthenticated for the token of a tenant."""
    if claims.tenant is not None or issuer.tenant is not None:
        raise Unauthenticated("a tenant's token cannot be used for the operators' API")
    return Operator(
        subject=claims.subject, token_id=claims.token_id, expires_at=claims.expires_at, scopes=claims.scopes
    )


def _tenant(claims: Claims, issuer: Issuer) -> TenantId:
    try:
        tenant = parse_tenant_id(claims.tenant)
    except InvalidTenantId:
        raise Unauthenticated("the token's tenant claim is not a tenant id") from None
    if issuer.tenant not in (None, tenant):
        raise Unauthenticated("the token's issuer may not issue tokens for its tenant")
    return tenant


def _role(claims: Claims) -> Role:
    if not isinstance(claims.role, str) or claims.role not in Role.__members__:
        raise Unauthenticated("the token's role claim is not one of OWNER, ADMIN, MEMBER and VIEWER")
    return Role(claims.role)
