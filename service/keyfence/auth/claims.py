"""What a token with a good signature says: for whom it is, until when, and about whom."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from keyfence.errors import Unauthenticated

LEEWAY = 10
LONGEST_LIFE = 30 * 86_400
"""What is known of a revoked token is kept as long, so none may live longer."""
MAX_TEXT = 256
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
    if now >= expires_at + LEEWAY:
        raise Unauthenticated("the token has expired")
    issued_at = _instant(document, "iat")
    if issued_at > now + LEEWAY:
        raise Unauthenticated("the token was issued in the future")
    if expires_at - issued_at > LONGEST_LIFE:
        raise Unauthenticated(f"the token lives longer than {LONGEST_LIFE} seconds")
    if document.get("nbf") is not None and _instant(document, "nbf") > now + LEEWAY:
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
    if not isinstance(value, str) or not 0 < len(value) <= MAX_TEXT or not value.isprintable():
        raise Unauthenticated(f"the token's {name} claim is not 1 to {MAX_TEXT} printable characters")
    return value


def _scopes(document: Document) -> frozenset[str]:
    value = document.get("scope")
    if value is None or value == "":
        return frozenset()
    if not isinstance(value, str) or not _SCOPE.fullmatch(value):
        raise Unauthenticated("the token's scope claim is not a list of words with single spaces between them")
    return frozenset(value.split(" "))
