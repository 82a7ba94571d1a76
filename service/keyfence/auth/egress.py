"""Protection against server-side request forgery (SSRF) when keys are fetched: rules for URIs, addresses and TLS."""

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

MAX_ADDRESSES = 4
"""How many addresses of a host are tried before the fetch fails."""

MAX_URI_LENGTH = 1024
"""How many characters a URI that a tenant registers may have."""

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
"""IPv4 networks that are not public: IANA's special-purpose networks, multicast, and everything above multicast."""

_UNICAST_V6 = ipaddress.IPv6Network("2000::/3")
"""The range of global unicast addresses. IPv4-mapped (::ffff:0:0/96), NAT64 (64:ff9b::/96), unique local and link-local
addresses are outside of this range."""

_RESERVED_V6 = tuple(
    ipaddress.IPv6Network(network)
    for network in ("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20")
)
"""Networks inside the unicast range that are not public: protocols such as Teredo, examples in documentation, 6to4 (an
address of 6to4 contains an IPv4 address), and AS112."""

_HTTPS_URI = re.compile(r"https://[A-Za-z0-9.:\[\]-]+(?:[/?][!-\"$-\[\]-~]*)?")
"""The URIs that a tenant may register. The authority has no '@' and no '%'. The URI has no '#' and no backslash."""

_HOST_NAME = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?")

_NUMERIC_LABEL = re.compile(r"[0-9]+|0x[0-9a-f]*")
"""A host whose last label is a number is an address in another notation, such as 2130706433 for 127.0.0.1."""

_DEFAULT_PORTS = {"https": 443, "http": 80}


class BadJwksUri(ValueError):
    """Keys must not be fetched from the given URI. The message says what is wrong with the URI."""


class EgressDenied(Exception):
    """The egress policy does not allow a connection to a host."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchTarget:
    """A parsed URL to fetch from. `request_target` is the path with the query."""

    host: str
    port: int
    request_target: str
    uses_tls: bool = True

    @property
    def authority(self) -> str:
        """The value of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        default_port = _DEFAULT_PORTS["https" if self.uses_tls else "http"]
        return host if self.port == default_port else f"{host}:{self.port}"


def parse_operator_uri(uri: str) -> FetchTarget:
    """Parses a URI from the settings. Raises BadJwksUri unless the scheme is https, or http to a loopback address."""
    url = _try_parse(uri)
    if url is None or not url.host or url.auth is not None or not _is_secure(url.scheme, url.host):
        raise BadJwksUri("a jwks_uri is an https:// URL (http:// only for loopback addresses) without a user name")
    return _fetch_target(url, url.host.strip("[]"))


def parse_tenant_uri(uri: str) -> FetchTarget:
    """Parses a URI that a tenant registered. Raises BadJwksUri if it is not an https URL that `_HTTPS_URI` matches,
    if it is too long, if its host name is not valid, or if its host is an IP address that is not public.

    The tenant chooses the host that this process connects to. So the URI is parsed only here, and the connection uses
    the parsed parts: a second parser could read another host."""
    if len(uri) > MAX_URI_LENGTH or not _HTTPS_URI.fullmatch(uri):
        limits = f"at most {MAX_URI_LENGTH:,} ASCII characters, without a user name, a fragment or a backslash"
        raise BadJwksUri(f"must be an https:// URL of {limits}")
    url = _try_parse(uri)
    if url is None or url.port == 0:
        raise BadJwksUri("cannot be parsed as a URL")
    return _fetch_target(url, _checked_public_host(url.host or ""))


def is_public_address(text: str) -> bool:
    """Whether the text is an IP address of the public internet.

    `ipaddress.is_global` is not used: its answers differ between Python versions, and it is true for multicast and 6to4
    addresses."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv4Address):
        return not any(address in network for network in _RESERVED_V4)
    if address.scope_id is not None:
        return False
    return address in _UNICAST_V6 and not any(address in network for network in _RESERVED_V6)


def resolve_host(host: str, port: int) -> Sequence[str]:
    """Returns the IP addresses of a host. Raises OSError if the name cannot be resolved."""
    results = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(socket_address[0]) for _, _, _, _, socket_address in results]


@cache
def system_tls_context() -> ssl.SSLContext:
    """Returns a context that trusts the certificate authorities of this machine and checks host names."""
    return ssl.create_default_context()


@dataclass(frozen=True, slots=True, kw_only=True)
class EgressPolicy:
    """Which addresses may be connected to, how names are resolved, and how TLS is verified."""

    is_allowed: Callable[[str], bool]
    resolve: Callable[[str, int], Sequence[str]] = resolve_host
    tls_context: Callable[[], ssl.SSLContext] = system_tls_context

    def addresses(self, target: FetchTarget) -> Sequence[str]:
        """Returns at most MAX_ADDRESSES addresses of the host. Raises OSError if the name cannot be resolved.

        Raises EgressDenied if the host has no address, or has an address that is not allowed."""
        addresses = list(dict.fromkeys(self.resolve(target.host, target.port)))
        if not addresses or not all(map(self.is_allowed, addresses)):
            raise EgressDenied("the host has no address, or has an address that is not allowed")
        return addresses[:MAX_ADDRESSES]


ANY_ADDRESS = EgressPolicy(is_allowed=lambda _: True)
PUBLIC_ADDRESSES = EgressPolicy(is_allowed=is_public_address)


def _checked_public_host(host: str) -> str:
    """Returns the host name or the IP address. Raises BadJwksUri if the address is not public.

    The addresses behind a host name are checked when the name is resolved."""
    try:
        address = str(ipaddress.ip_address(host.strip("[]")))
    except ValueError:
        if not _HOST_NAME.fullmatch(host) or _NUMERIC_LABEL.fullmatch(host.rpartition(".")[2]):
            raise BadJwksUri("has no valid host name") from None
        return host
    if not is_public_address(address):
        raise BadJwksUri("has an address that is not on the public internet")
    return address


def _fetch_target(url: Url, host: str) -> FetchTarget:
    scheme = url.scheme or ""
    return FetchTarget(
        host=host,
        port=url.port or _DEFAULT_PORTS[scheme],
        request_target=url.request_uri,
        uses_tls=scheme == "https",
    )


def _try_parse(uri: str) -> Url | None:
    try:
        return parse_url(uri)
    except LocationParseError:
        return None


def _is_secure(scheme: str | None, host: str) -> bool:
    return scheme == "https" or (scheme == "http" and is_loopback_host(host))
