"""`Issuer` from the settings; how issuer URLs are spelled."""

import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from keyfence.auth.egress import parse_operator_uri
from keyfence.auth.jwks import parse_jwks_strictly
from keyfence.auth.key_sets import FetchedKeys, FixedKeys, JwksUrl, KeySet
from keyfence.settings import IssuerSettings
from keyfence_iam.tenant import TenantId, parse_tenant_id

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Issuer:
    """`url` is compared letter by letter with a token's `iss`. With `tenant`, it speaks for that tenant alone."""

    url: str
    keys: KeySet
    tenant: TenantId | None = None


class IssuerLookup(Protocol):
    """Where issuers are found that no settings name."""

    async def find(self, url: str) -> Issuer | None: ...


def issuer_from_settings(settings: IssuerSettings, *, clock: Clock = time.monotonic) -> Issuer:
    """ValueError, naming the issuer, when the settings cannot be used."""
    try:
        tenant = None if settings.tenant is None else parse_tenant_id(settings.tenant)
        return Issuer(url=settings.issuer, keys=_keys(settings, clock), tenant=tenant)
    except ValueError as error:
        raise ValueError(f"issuer {settings.issuer}: {error}") from None


def issuers_by_url(issuers: Iterable[Issuer]) -> Mapping[str, Issuer]:
    known: dict[str, Issuer] = {}
    for issuer in issuers:
        if known.setdefault(issuer.url, issuer) is not issuer:
            raise ValueError(f"issuer {issuer.url} is given twice")
    return known


def _keys(settings: IssuerSettings, clock: Clock) -> KeySet:
    if settings.jwks is not None and settings.jwks_uri is None:
        return FixedKeys(parse_jwks_strictly(settings.jwks))
    if settings.jwks_uri is not None and settings.jwks is None:
        source = JwksUrl(parse_operator_uri(settings.jwks_uri))
        return FetchedKeys(source.fetch, clock=clock, issuer=settings.issuer)
    raise ValueError("give exactly one of jwks and jwks_uri")


MAX_ISSUER_LENGTH = 512

_HTTPS = re.compile(
    r"https://(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?(?:/[\w.~%!$&'()*+,;=:@/-]*)?",
    re.ASCII,
)
"""RFC 8414, section 2: https, with neither query nor fragment; nor with a user's name."""


def is_issuer_url(text: str) -> bool:
    """One spelling is one issuer: tokens are compared with it letter by letter, so nothing is made equal here."""
    return len(text) <= MAX_ISSUER_LENGTH and _HTTPS.fullmatch(text) is not None
