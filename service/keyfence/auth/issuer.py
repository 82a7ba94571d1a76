"""`Issuer`: a URL and the keys that sign its tokens; issuers from the settings; which URLs an issuer can have."""

import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from keyfence.auth.egress import parse_operator_uri
from keyfence.auth.jwk_parser import parse_jwks_strictly
from keyfence.auth.jwks_refresh import FetchedKeys, JwksUrl
from keyfence.auth.key_set import FixedKeys, KeySet
from keyfence.settings import IssuerSettings
from keyfence_iam.tenant import TenantId, parse_tenant_id

MAX_ISSUER_LENGTH = 512

_HTTPS = re.compile(
    r"https://(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?(?:/[\w.~%!$&'()*+,;=:@/-]*)?",
    re.ASCII,
)
"""RFC 8414, section 2: https, no query, no fragment. In addition: no user name."""

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Issuer:
    """An accepted issuer of tokens. `url` must equal a token's `iss` exactly. If `tenant` is set, the issuer may only
    issue tokens for that tenant."""

    url: str
    keys: KeySet
    tenant: TenantId | None = None


class IssuerLookup(Protocol):
    """Finds issuers that are not in the settings."""

    async def find(self, url: str) -> Issuer | None: ...


def issuer_from_settings(settings: IssuerSettings, *, clock: Clock = time.monotonic) -> Issuer:
    """Returns the issuer of the settings. Raises ValueError, with the issuer's URL, if the settings are wrong."""
    try:
        tenant = None if settings.tenant is None else parse_tenant_id(settings.tenant)
        return Issuer(url=settings.issuer, keys=_keys(settings, clock), tenant=tenant)
    except ValueError as error:
        raise ValueError(f"issuer {settings.issuer}: {error}") from None


def issuers_by_url(issuers: Iterable[Issuer]) -> Mapping[str, Issuer]:
    """Raises ValueError if two issuers have the same URL."""
    known: dict[str, Issuer] = {}
    for issuer in issuers:
        if known.setdefault(issuer.url, issuer) is not issuer:
            raise ValueError(f"issuer {issuer.url} is configured twice")
    return known


def is_issuer_url(text: str) -> bool:
    """Whether the text can be the URL of an issuer. The URL is not normalized, because it is compared exactly."""
    return len(text) <= MAX_ISSUER_LENGTH and _HTTPS.fullmatch(text) is not None


def _keys(settings: IssuerSettings, clock: Clock) -> KeySet:
    if settings.jwks is not None and settings.jwks_uri is None:
        return FixedKeys(parse_jwks_strictly(settings.jwks))
    if settings.jwks_uri is not None and settings.jwks is None:
        source = JwksUrl(parse_operator_uri(settings.jwks_uri))
        return FetchedKeys(source.fetch, clock=clock, issuer=settings.issuer)
    raise ValueError("set exactly one of jwks and jwks_uri")
