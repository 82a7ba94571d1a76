"""Fetches a key set once, with limits, and without trust in the answer: `JwksUrl` from a URL, `DiscoveredJwks` from the
URL that an issuer names in its metadata document (OpenID Connect Discovery, RFC 8414)."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import orjson

from keyfence.auth.egress import ANY_ADDRESS, BadJwksUri, EgressPolicy, FetchTarget
from keyfence.auth.http_get import DEFAULT_LIMITS, FetchFailed, FetchLimits, http_get
from keyfence.auth.jwk_parser import parse_jwks_leniently
from keyfence.auth.key_set import KeysById
from keyfence.development_keys import is_development_key

MAX_KEYS = 64
"""How many keys a fetched key set may have. Providers publish two or three."""

OPENID_PATH = "/.well-known/openid-configuration"
OAUTH_PATH = "/.well-known/oauth-authorization-server"


class JwksUnavailable(Exception):
    """A key set could not be fetched. The message is for the log and not for clients."""


@dataclass(frozen=True, slots=True)
class JwksUrl:
    """The address of a key set, with the policy and the limits of a fetch from it."""

    target: FetchTarget
    egress: EgressPolicy = ANY_ADDRESS
    limits: FetchLimits = DEFAULT_LIMITS
    allow_development_keys: bool = False
    """Whether keys that a development machine made are used. They are not used on AWS."""

    def fetch(self) -> KeysById:
        """Returns the usable keys of the key set. Raises JwksUnavailable if the key set cannot be fetched or parsed.

        The method can block for seconds: call it in a thread."""
        try:
            body = http_get(self.target, self.egress, self.limits)
            keys = parse_jwks_leniently(orjson.loads(body))
        except FetchFailed as error:
            raise JwksUnavailable(str(error)) from error
        except ValueError as error:
            raise JwksUnavailable(type(error).__name__) from error
        if len(keys) > MAX_KEYS:
            raise JwksUnavailable(f"more than {MAX_KEYS} keys")
        return {kid: key for kid, key in keys.items() if self.allow_development_keys or not is_development_key(kid)}


ParseUri = Callable[[str], FetchTarget]
"""A function that parses a URI, and raises BadJwksUri if nothing must be fetched from it."""


def metadata_urls(issuer: str) -> tuple[str, str]:
    """Returns two URLs of an issuer's metadata. The URL of OpenID Connect ends with the well-known path. In the URL of
    OAuth, the well-known path is before the path of the issuer (RFC 8414, section 3.1)."""
    scheme, _, address = issuer.removesuffix("/").partition("://")
    authority, slash, path = address.partition("/")
    return f"{scheme}://{address}{OPENID_PATH}", f"{scheme}://{authority}{OAUTH_PATH}{slash}{path}"


@dataclass(frozen=True, slots=True)
class DiscoveredJwks:
    """The metadata documents of an issuer, with the rules for URIs, and the policy and the limits of a fetch."""

    issuer: str
    targets: tuple[FetchTarget, ...]
    """Where the metadata are, in the order in which they are tried."""
    parse_uri: ParseUri
    egress: EgressPolicy = ANY_ADDRESS
    limits: FetchLimits = DEFAULT_LIMITS
    """The limits of all requests of one fetch together."""
    allow_development_keys: bool = False

    @classmethod
    def of(
        cls,
        issuer: str,
        parse_uri: ParseUri,
        egress: EgressPolicy = ANY_ADDRESS,
        limits: FetchLimits = DEFAULT_LIMITS,
        allow_development_keys: bool = False,
    ) -> "DiscoveredJwks":
        """Returns the metadata documents of the issuer, which are not fetched yet.

        Raises BadJwksUri if nothing must be fetched from the issuer, or if its URL has a query or a fragment."""
        if "?" in issuer or "#" in issuer:
            raise BadJwksUri("an issuer without jwks and jwks_uri must be a URL without a query and a fragment")
        targets = tuple(map(parse_uri, metadata_urls(issuer)))
        return cls(issuer, targets, parse_uri, egress, limits, allow_development_keys)

    def fetch(self) -> KeysById:
        """Returns the usable keys of the issuer. Raises JwksUnavailable if the metadata or the key set cannot be
        fetched or parsed, or if the metadata are of another issuer.

        The metadata are fetched together with the keys each time, because an issuer may change its `jwks_uri`. The
        method can block for seconds: call it in a thread."""
        ends_at = time.monotonic() + self.limits.total_seconds
        target = self._jwks_target(self._fetch_metadata(ends_at))
        return JwksUrl(target, self.egress, self._remaining_limits(ends_at), self.allow_development_keys).fetch()

    def _fetch_metadata(self, ends_at: float) -> bytes:
        """Returns the first metadata document that the issuer's server has."""
        reasons = []
        for target in self.targets:
            try:
                return http_get(target, self.egress, self._remaining_limits(ends_at))
            except FetchFailed as error:
                reasons.append(str(error))
        raise JwksUnavailable(f"no metadata: {', '.join(reasons)}")

    def _jwks_target(self, body: bytes) -> FetchTarget:
        try:
            metadata = orjson.loads(body)
        except ValueError:
            metadata = None
        if not isinstance(metadata, dict) or metadata.get("issuer") != self.issuer:
            raise JwksUnavailable("the metadata are not those of the issuer")
        jwks_uri = metadata.get("jwks_uri")
        try:
            return self.parse_uri(jwks_uri if isinstance(jwks_uri, str) else "")
        except BadJwksUri:
            raise JwksUnavailable("the metadata have no jwks_uri that keys may be fetched from") from None

    def _remaining_limits(self, ends_at: float) -> FetchLimits:
        return replace(self.limits, total_seconds=ends_at - time.monotonic())
