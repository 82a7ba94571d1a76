"""The claims of a token: checks of the audience and the times, and the caller that the claims identify."""

import re
from collections.abc import Container, Mapping

from keyfence.auth.claim_mapping import ClaimMapping, ClaimUse
from keyfence.auth.principal import Operator, Principal, Role
from keyfence.errors import Unauthenticated
from keyfence_iam.tenant import InvalidTenantId, TenantId, parse_tenant_id

CLOCK_SKEW_SECONDS = 10
"""How much the clock of an issuer and the clock of this machine may differ."""

MAX_TOKEN_LIFETIME_SECONDS = 30 * 86_400
"""A token that lives longer is refused. The revocation of a token is stored for this long, so it outlives the token."""

MAX_CLAIM_LENGTH = 256
"""How many characters the subject, the token id and the session id may have. They become parts of keys in the table."""

_MAX_EPOCH_SECONDS = 2**53
"""Larger whole numbers are not exact as floating point."""

_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*")
"""The scope syntax of RFC 6749, section 3.3."""

RawClaims = Mapping[str, object]
"""The claims as they are in the JSON of the token."""


def require_audience(
    raw_claims: RawClaims, mapping: ClaimMapping, audience: str, refused_audiences: Container[str] = ()
) -> None:
    """Raises Unauthenticated if the token is for another audience.

    If the issuer has no audiences of its own, `audience` must be the only audience of the token. Otherwise another
    service that receives the token could use it here. If the issuer has audiences of its own, one of them is enough,
    because many providers add an audience for themselves. A token that also names one of `refused_audiences` is
    refused."""
    value = _required(raw_claims, mapping, ClaimUse.AUDIENCE)
    if mapping.audiences:
        token_audiences = [value] if isinstance(value, str) else value
        if isinstance(token_audiences, list) and _is_accepted(token_audiences, mapping.audiences, refused_audiences):
            return
    elif value in (audience, [audience]):
        return
    raise Unauthenticated("the token is for another audience")


def _is_accepted(token_audiences: list[object], accepted: frozenset[str], refused: Container[str]) -> bool:
    texts = [audience for audience in token_audiences if isinstance(audience, str)]
    if len(texts) < len(token_audiences):
        return False
    return not accepted.isdisjoint(texts) and not any(text in refused for text in texts)


def require_valid_times(raw_claims: RawClaims, now: float) -> int:
    """Returns `exp` in whole seconds. Raises Unauthenticated if the token is not valid at the time `now`."""
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
    return expires_at


def _epoch_seconds(raw_claims: RawClaims, name: str) -> int:
    value = raw_claims.get(name)
    if value is None:
        raise _missing(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _MAX_EPOCH_SECONDS:
        raise Unauthenticated(f"the token's {name} claim is not a time in epoch seconds")
    return int(value)


def principal_from_claims(raw_claims: RawClaims, mapping: ClaimMapping) -> Principal:
    """Returns the user or the machine that a token identifies.

    Raises Unauthenticated if a claim is missing or malformed, or if the issuer may not issue tokens for the tenant."""
    return Principal(
        tenant=_tenant(raw_claims, mapping),
        subject=_text(_required(raw_claims, mapping, ClaimUse.SUBJECT), mapping.name(ClaimUse.SUBJECT)),
        role=_role(raw_claims, mapping),
        token_id=_token_id(raw_claims, mapping),
        session_id=_optional_text(raw_claims, mapping, ClaimUse.SESSION),
        issued_at=_epoch_seconds(raw_claims, "iat"),
        expires_at=_epoch_seconds(raw_claims, "exp"),
        scopes=_scopes(raw_claims, mapping),
    )


def operator_from_claims(raw_claims: RawClaims, mapping: ClaimMapping) -> Operator:
    """Returns the operator that a token identifies.

    Raises Unauthenticated if the token belongs to a tenant, or if a claim is missing or malformed."""
    if mapping.find(raw_claims, ClaimUse.TENANT) is not None or mapping.tenant is not None:
        raise Unauthenticated("a tenant's token cannot be used for the operators' API")
    return Operator(
        subject=_text(_required(raw_claims, mapping, ClaimUse.SUBJECT), mapping.name(ClaimUse.SUBJECT)),
        token_id=_token_id(raw_claims, mapping),
        expires_at=_epoch_seconds(raw_claims, "exp"),
        scopes=_scopes(raw_claims, mapping),
    )


def _missing(name: str) -> Unauthenticated:
    return Unauthenticated(f"the token has no {name} claim")


def _optional(raw_claims: RawClaims, mapping: ClaimMapping, use: ClaimUse) -> object:
    """Returns the value of a claim, or None. Raises Unauthenticated if the mapping names the claim, and the token does
    not have it or has it without a value."""
    value = mapping.find(raw_claims, use)
    if use in mapping.claims and (value is None or value in ("", [], {})):
        raise _missing(mapping.name(use))
    return value


def _required(raw_claims: RawClaims, mapping: ClaimMapping, use: ClaimUse) -> object:
    value = _optional(raw_claims, mapping, use)
    if value is None:
        raise _missing(mapping.name(use))
    return value


def _text(value: object, name: str) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= MAX_CLAIM_LENGTH or not value.isprintable():
        raise Unauthenticated(f"the token's {name} claim is not 1 to {MAX_CLAIM_LENGTH} printable characters")
    return value


def _optional_text(raw_claims: RawClaims, mapping: ClaimMapping, use: ClaimUse) -> str | None:
    value = _optional(raw_claims, mapping, use)
    return None if value is None else _text(value, mapping.name(use))


def _token_id(raw_claims: RawClaims, mapping: ClaimMapping) -> str | None:
    token_id = _optional_text(raw_claims, mapping, ClaimUse.TOKEN_ID)
    if token_id is None and not mapping.is_custom:
        raise _missing(mapping.name(ClaimUse.TOKEN_ID))
    return token_id


def _tenant(raw_claims: RawClaims, mapping: ClaimMapping) -> TenantId:
    value = _optional(raw_claims, mapping, ClaimUse.TENANT)
    if value is None and mapping.tenant is not None and mapping.is_custom and not mapping.tenants:
        return mapping.tenant
    tenant = _tenant_of_claim(value, mapping)
    if mapping.tenant not in (None, tenant):
        raise Unauthenticated("the token's issuer may not issue tokens for the tenant in the token")
    return tenant


def _tenant_of_claim(value: object, mapping: ClaimMapping) -> TenantId:
    """Returns the tenant that the claim names. Raises Unauthenticated if the claim names no tenant.

    Texts are compared exactly: a text with another case or with a similar character names no tenant."""
    name = mapping.name(ClaimUse.TENANT)
    if mapping.tenants:
        if not isinstance(value, str) or value not in mapping.tenants:
            raise Unauthenticated(f"the token's {name} claim names no organisation of a tenant")
        return mapping.tenants[value]
    try:
        return parse_tenant_id(value)
    except InvalidTenantId:
        raise Unauthenticated(f"the token's {name} claim is not a tenant id") from None


def _role(raw_claims: RawClaims, mapping: ClaimMapping) -> Role:
    """Returns the strongest role of the token, or the default role if the token has none.

    Raises Unauthenticated if there is no default role either, or if the claim is malformed."""
    names = _texts(mapping.find(raw_claims, ClaimUse.ROLE), mapping)
    found = {mapping.roles[name] for name in names or () if name in mapping.roles}
    strongest = next((role for role in Role if role in found), mapping.default_role)
    if names is None or strongest is None:
        raise Unauthenticated(f"the token's {mapping.name(ClaimUse.ROLE)} claim has no role that is accepted")
    return strongest


def _scopes(raw_claims: RawClaims, mapping: ClaimMapping) -> frozenset[str]:
    value = _optional(raw_claims, mapping, ClaimUse.SCOPE)
    texts = () if value == "" else _texts(value, mapping)
    if texts is None or not all(_SCOPE.fullmatch(text) for text in texts):
        name = mapping.name(ClaimUse.SCOPE)
        raise Unauthenticated(f"the token's {name} claim is not a list of words separated by single spaces")
    return frozenset(scope for text in texts for scope in text.split(" "))


def _texts(value: object, mapping: ClaimMapping) -> tuple[str, ...] | None:
    """Returns the texts of a claim. The claim has one text or, if the issuer has a mapping, a list of texts.

    Returns an empty tuple if the claim is missing, and None if the claim has another form."""
    if value is None:
        return ()
    values = value if isinstance(value, list) and mapping.is_custom else [value]
    texts = tuple(text for text in values if isinstance(text, str))
    return texts if len(texts) == len(values) else None
