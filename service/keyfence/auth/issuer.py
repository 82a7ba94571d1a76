"""`Issuer`: the URL of an identity provider and the keys that sign its tokens. Makes the issuers of the settings."""

import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from keyfence.auth.claim_mapping import ClaimMapping, parse_claim_mapping
from keyfence.auth.egress import parse_operator_uri
from keyfence.auth.jwk_parser import parse_jwks_strictly
from keyfence.auth.jwks_refresh import FetchedKeys
from keyfence.auth.jwks_url import DiscoveredJwks, JwksUrl
from keyfence.auth.key_set import FixedKeys, KeySet
from keyfence.settings import IssuerSettings
from keyfence_iam.tenant import TenantId, parse_tenant_id

MAX_ISSUER_LENGTH = 512
"""How many characters the URL of an issuer may have."""

_ISSUER_URL = re.compile(
    r"https://(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?(?:/[\w.~%!$&'()*+,;=:@/-]*)?",
    re.ASCII,
)
"""RFC 8414, section 2, requires https, and forbids a query and a fragment. This pattern also forbids a user name."""

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Issuer:
    """An issuer whose tokens are accepted."""

    url: str
    """The `iss` claim of the issuer's tokens must equal this URL exactly."""
    keys: KeySet
    mapping: ClaimMapping = field(default_factory=ClaimMapping)

    @property
    def tenant(self) -> TenantId | None:
        """The only tenant that the issuer may issue tokens for. None: the issuer may issue tokens for every tenant."""
        return self.mapping.tenant


class IssuerLookup(Protocol):
    """Finds issuers that are not in the settings."""

    async def find(self, url: str) -> Issuer | None: ...


def issuer_from_settings(
    settings: IssuerSettings, *, clock: Clock = time.monotonic, allow_development_keys: bool = False
) -> Issuer:
    """Returns the issuer. Raises ValueError, with the issuer's URL in its message, if the settings are wrong.

    `allow_development_keys` applies only to fetched keys. For keys in the settings, `production_problems` refuses
    development keys."""
    try:
        tenant = None if settings.tenant is None else parse_tenant_id(settings.tenant)
        mapping = parse_claim_mapping(settings.mapping, tenant)
        return Issuer(url=settings.issuer, keys=_key_set(settings, clock, allow_development_keys), mapping=mapping)
    except ValueError as error:
        raise ValueError(f"issuer {settings.issuer}: {error}") from None


def issuers_by_url(issuers: Iterable[Issuer]) -> Mapping[str, Issuer]:
    """Returns the issuers by their URL. Raises ValueError if two issuers have the same URL."""
    by_url: dict[str, Issuer] = {}
    for issuer in issuers:
        first_with_url = by_url.setdefault(issuer.url, issuer)
        if first_with_url is not issuer:
            raise ValueError(f"issuer {issuer.url} is configured twice; remove one of the two entries")
    return by_url


def is_issuer_url(text: str) -> bool:
    """Whether an issuer can have this URL. The text is not normalized, because `iss` claims are compared exactly."""
    return len(text) <= MAX_ISSUER_LENGTH and _ISSUER_URL.fullmatch(text) is not None


def _key_set(settings: IssuerSettings, clock: Clock, allow_development_keys: bool) -> KeySet:
    if settings.jwks is not None and settings.jwks_uri is not None:
        raise ValueError("set jwks or jwks_uri, not both")
    if settings.jwks is not None:
        return FixedKeys(parse_jwks_strictly(settings.jwks))
    return FetchedKeys(_key_source(settings, allow_development_keys).fetch, clock=clock, issuer=settings.issuer)


def _key_source(settings: IssuerSettings, allow_development_keys: bool) -> JwksUrl | DiscoveredJwks:
    if settings.jwks_uri is None:
        return DiscoveredJwks.of(settings.issuer, parse_operator_uri, allow_development_keys=allow_development_keys)
    return JwksUrl(parse_operator_uri(settings.jwks_uri), allow_development_keys=allow_development_keys)
