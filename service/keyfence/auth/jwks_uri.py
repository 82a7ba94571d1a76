"""Where keys may be fetched from: what the settings may name, and what a tenant may name."""

import ipaddress
import re

from urllib3.exceptions import LocationParseError
from urllib3.util import Url, parse_url

from keyfence.auth.public_address import is_public
from keyfence.auth.reach import Place

MAX_URI = 1024

_HTTPS = re.compile(r"https://[A-Za-z0-9.:\[\]-]+(?:[/?][!-\"$-\[\]-~]*)?")
"""With neither @ nor % in its authority, and neither # nor a backslash anywhere."""
_NAME = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
"""What ends in one is an address in another spelling, such as 2130706433 for 127.0.0.1."""
_PORTS = {"https": 443, "http": 80}


class BadJwksUri(ValueError):
    """An address that keys are not fetched from; the message says what is wrong with it."""


def settings_place(uri: str) -> Place:
    """Whoever writes the settings may name any host, and this machine even without https."""
    url = _parsed(uri)
    if url is None or not url.host or url.auth is not None or not _is_settings_scheme(url.scheme, url.host):
        raise BadJwksUri("a jwks_uri is an https:// address (http:// only on the loopback), without a user name")
    return _place(url, url.host.strip("[]"))


def tenants_place(uri: str) -> Place:
    """Somebody else's words, which make this process call somewhere: read once, so that what was checked is called."""
    if len(uri) > MAX_URI or not _HTTPS.fullmatch(uri):
        raise BadJwksUri(
            f"must be an https:// address of at most {MAX_URI:,} ASCII characters, without a user name, a fragment or a"
            " backslash"
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
    if not is_public(literal):
        raise BadJwksUri("names no host of the public internet")
    return literal


def _place(url: Url, host: str) -> Place:
    scheme = url.scheme or ""
    return Place(host=host, port=url.port or _PORTS[scheme], target=url.request_uri, secure=scheme == "https")


def _parsed(uri: str) -> Url | None:
    try:
        return parse_url(uri)
    except LocationParseError:
        return None


def _is_settings_scheme(scheme: str | None, host: str) -> bool:
    return scheme == "https" or (scheme == "http" and _is_loopback(host))


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
