"""Where keys may be fetched from: URI rules, public addresses, DNS and TLS policy (SSRF)."""

import ipaddress
import re
import socket
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from urllib3.exceptions import LocationParseError
from urllib3.util import Url, parse_url

from keyfence.validation import is_loopback_host

_RESERVED_V4 = tuple(
    ipaddress.IPv4Network(network)
    for network in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "192.175.48.0/24",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/3",
    )
)
"""IANA's special-purpose addresses, multicast and what lies above it."""

_UNICAST_V6 = ipaddress.IPv6Network("2000::/3")
"""All that is given out; IPv4 in IPv6 clothes (::ffff:0:0/96, 64:ff9b::/96), unique local, link local lie outside."""
_RESERVED_V6 = tuple(
    ipaddress.IPv6Network(network)
    for network in ("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20")
)
"""Inside of it: protocols (Teredo among them), documentation, 6to4, which carries an IPv4 address, AS112."""


def is_public_address(text: str) -> bool:
    """A list of our own: what `ipaddress` calls global differs between versions, and counts multicast and 6to4 in."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv4Address):
        return not any(address in network for network in _RESERVED_V4)
    if address.scope_id is not None:
        return False
    return address in _UNICAST_V6 and not any(address in network for network in _RESERVED_V6)


MAX_ADDRESSES = 4


class EgressDenied(Exception):
    """A place that is not called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchTarget:
    """Where something lies; `target` is the path and the query."""

    host: str
    port: int
    request_target: str
    uses_tls: bool = True

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.uses_tls else 80) else f"{host}:{self.port}"


def resolve_host(host: str, port: int) -> Sequence[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[0]) for _, _, _, _, address in found]


@cache
def system_tls_context() -> ssl.SSLContext:
    """Certificates of the authorities that this machine trusts, for the name that was asked for."""
    return ssl.create_default_context()


@dataclass(frozen=True, slots=True, kw_only=True)
class EgressPolicy:
    """A name that stands for one address that is not allowed is called at none of its addresses."""

    is_allowed: Callable[[str], bool]
    resolve: Callable[[str, int], Sequence[str]] = resolve_host
    tls_context: Callable[[], ssl.SSLContext] = system_tls_context

    def addresses(self, place: FetchTarget) -> Sequence[str]:
        found = list(dict.fromkeys(self.resolve(place.host, place.port)))
        if not found or not all(map(self.is_allowed, found)):
            raise EgressDenied("its name stands for no address, or for one that is not called")
        return found[:MAX_ADDRESSES]


ANY_ADDRESS = EgressPolicy(is_allowed=lambda _: True)
PUBLIC_ADDRESSES = EgressPolicy(is_allowed=is_public_address)


MAX_URI_LENGTH = 1024

_HTTPS = re.compile(r"https://[A-Za-z0-9.:\[\]-]+(?:[/?][!-\"$-\[\]-~]*)?")
"""With neither @ nor % in its authority, and neither # nor a backslash anywhere."""
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
"""What ends in one is an address in another spelling, such as 2130706433 for 127.0.0.1."""
_PORTS = {"https": 443, "http": 80}


class BadJwksUri(ValueError):
    """An address that keys are not fetched from; the message says what is wrong with it."""


def parse_operator_uri(uri: str) -> FetchTarget:
    """Whoever writes the settings may name any host, and this machine even without https."""
    url = _parsed(uri)
    if url is None or not url.host or url.auth is not None or not _is_settings_scheme(url.scheme, url.host):
        raise BadJwksUri("a jwks_uri is an https:// address (http:// only on the loopback), without a user name")
    return _place(url, url.host.strip("[]"))


def parse_tenant_uri(uri: str) -> FetchTarget:
    """Somebody else's words, which make this process call somewhere: read once, so that what was checked is called."""
    if len(uri) > MAX_URI_LENGTH or not _HTTPS.fullmatch(uri):
        raise BadJwksUri(
            f"must be an https:// address of at most {MAX_URI_LENGTH:,} ASCII characters, without a user name,"
            " a fragment or a backslash"
        )
    url = _parsed(uri)
    if url is None or url.port == 0:
        raise BadJwksUri("cannot be read as an address")
    return _place(url, _tenants_host(url.host or ""))


def _tenants_host(host: str) -> str:
    """A name, or an address that everybody could call. What a name stands for is seen when it is called."""
    try:
        literal = str(ipaddress.ip_address(host.strip("[]")))
    except ValueError:
        if not _NAME.fullmatch(host) or _NUMBER.fullmatch(host.rpartition(".")[2]):
            raise BadJwksUri("names no host") from None
        return host
    if not is_public_address(literal):
        raise BadJwksUri("names no host of the public internet")
    return literal


def _place(url: Url, host: str) -> FetchTarget:
    scheme = url.scheme or ""
    return FetchTarget(
        host=host, port=url.port or _PORTS[scheme], request_target=url.request_uri, uses_tls=scheme == "https"
    )


def _parsed(uri: str) -> Url | None:
    try:
        return parse_url(uri)
    except LocationParseError:
        return None


def _is_settings_scheme(scheme: str | None, host: str) -> bool:
    return scheme == "https" or (scheme == "http" and is_loopback_host(host))
