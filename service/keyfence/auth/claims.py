"""`Claims` of a token: the checks of audience, times and form, and the caller that the claims identify."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from keyfence.auth.issuer import Issuer
from keyfence.auth.principal import Operator, Principal, Role
from keyfence.errors import Unauthenticated
from keyfence_iam.tenant import InvalidTenantId, TenantId, parse_tenant_id

CLOCK_SKEW_SECONDS = 10
"""How much the clock of an issuer and the clock of this machine may differ."""

MAX_TOKEN_LIFETIME_SECONDS = 30 * 86_400
"""A token that lives longer is refused. The revocation of a token is stored for this long, so it outlives the token."""

MAX_CLAIM_LENGTH = 256
"""How many characters `sub` and `jti` may have. These claims become parts of keys in the table."""

_MAX_EPOCH_SECONDS = 2**53
"""Larger whole numbers are not exact as floating point."""

_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*")
"""The scope syntax of RFC 6749, section 3.3."""

RawClaims = Mapping[str, object]
"""The claims as they are in the JSON of the token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """Claims whose form, audience and times are checked."""

    subject: str
    token_id: str
    issued_at: int
    expires_at: int
    scopes: frozenset[str]
    tenant: object
    """Not checked yet: the tenants' API requires a tenant id, and the operators' API requires that there is none."""
    role: object
    """Not checked yet: only the tenants' API uses the role."""


def parse_claims(raw_claims: RawClaims, *, audience: str, now: float) -> Claims:
    """Raises Unauthenticated if a claim is missing or malformed, if the token is for another audience, or if the token
    is not valid at the time `now` (epoch seconds)."""
    _require_audience(raw_claims, audience)
    issued_at, expires_at = _require_valid_times(raw_claims, now)
    return Claims(
        subject=_text(raw_claims, "sub"),
        token_id=_text(raw_claims, "jti"),
        issued_at=issued_at,
        expires_at=expires_at,
        scopes=_scopes(raw_claims),
        tenant=raw_claims.get("tenant"),
        role=raw_claims.get("role"),
    )


def _require_audience(raw_claims: RawClaims, audience: str) -> None:
    """Refuses a token with several audiences: each other service that receives such a token could use it here."""
    if _required(raw_claims, "aud") not in (audience, [audience]):
        raise Unauthenticated("the token is for another audience")


def _require_valid_times(raw_claims: RawClaims, now: float) -> tuple[int, int]:
    """Returns `iat` and `exp` in whole seconds."""
    expires_at = _epoch_seconds(raw_claims, "exp")
    if now >= expires_at + CLOCK_SKEW_SECONDS:
        raise Unauthenticated("the token has expired")
    issued_at = _epoch_seconds(raw_claims, "iat")
    if issued_at > now + CLOCK_SKEW_SECONDS:
        raise Unauthenticated("the token was issued in the future")
    if expires_at - issued_at > MAX_TOKEN_LIFETIME_SECONDS:
        raise Unauthenticated(f"the token lives longer than {MAX_TOKEN_LIFETIME_SECONDS} seconds")
    if raw_claims.get("nbf") is not None and _epoch_seconds(raw_claims, "nbf") > now + CLOCK_SKEW_SECONDS:
        raise Unauthenticated("the token is not valid yet")
    return issued_at, expires_at


def _required(raw_claims: RawClaims, name: str) -> object:
    value = raw_claims.get(name)
    if value is None:
        raise Unauthenticated(f"the token has no {name} claim")
    return value


def _epoch_seconds(raw_claims: RawClaims, name: str) -> int:
    value = _required(raw_claims, name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _MAX_EPOCH_SECONDS:
        raise Unauthenticated(f"the token's {name} claim is not a time in epoch seconds")
    return int(value)


def _text(raw_claims: RawClaims, name: str) -> str:
    value = _required(raw_claims, name)
    if not isinstance(value, str) or not 0 < len(value) <= MAX_CLAIM_LENGTH or not value.isprintable():
        raise Unauthenticated(f"the token's {name} claim is not 1 to {MAX_CLAIM_LENGTH} printable characters")
    return value


def _scopes(raw_claims: RawClaims) -> frozenset[str]:
    value = raw_claims.get("scope")
    if value is None or value == "":
        return frozenset()
    if not isinstance(value, str) or not _SCOPE.fullmatch(value):
        raise Unauthenticated("the token's scope claim is not a list of words separated by single spaces")
    return frozenset(value.split(" "))


def principal_from_claims(claims: Claims, issuer: Issuer) -> Principal:
    """Returns the user that a token identifies. Raises Unauthenticated if the tenant or the role is malformed, or if
    the issuer may not issue tokens for the tenant."""
    return Principal(
        tenant=_tenant(claims, issuer),
        subject=claims.subject,
        role=_role(claims),
        token_id=claims.token_id,
        issued_at=claims.issued_at,
        expires_at=claims.expires_at,
        scopes=claims.scopes,
    )


def operator_from_claims(claims: Claims, issuer: Issuer) -> Operator:
    """Returns the operator that a token identifies. Raises Unauthenticated if the token belongs to a tenant."""
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
        raise Unauthenticated("the token's issuer may not issue tokens for the tenant in the token")
    return tenant


def _role(claims: Claims) -> Role:
    if not isinstance(claims.role, str) or claims.role not in Role.__members__:
        raise Unauthenticated("the token's role claim is not one of OWNER, ADMIN, MEMBER and VIEWER")
    return Role(claims.role)
