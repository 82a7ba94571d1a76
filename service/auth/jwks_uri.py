"""The address that a tenant gives for its key set: somebody else's words, which make this process call somewhere."""

import ipaddress
import re
from dataclasses import dataclass

from urllib3.exceptions import LocationParseError
from urllib3.util import parse_url

from service.auth.public_address import is_public

MAX_URI = 1024
HTTPS_PORT = 443

_READABLE = re.compile(r"https://[!-~]+")
_HOST = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?\.?")


class BadJwksUri(ValueError):
    """An address that keys are not fetched from; the message says what is wrong with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JwksUri:
    """Read once, so that what was checked is what is called."""

    host: str
    port: int
    target: str
    """The path and the query, as they are sent."""


def jwks_uri(text: str) -> JwksUri:
    if len(text) > MAX_URI or not _READABLE.fullmatch(text):
        raise BadJwksUri(f"is an https:// address of at most {MAX_URI} ASCII characters")
    if "#" in text or "\\" in text:
        raise BadJwksUri("has neither a fragment nor a backslash")
    try:
        url = parse_url(text)
    except LocationParseError:
        raise BadJwksUri("cannot be read as an address") from None
    if url.auth is not None:
        raise BadJwksUri("has no user name and no password")
    return JwksUri(host=_host(url.host or ""), port=_port(url.port), target=url.request_uri)


def _host(host: str) -> str:
    """A name, or an address that everybody could call. What a name stands for is seen when it is called."""
    try:
        literal = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        if not _HOST.fullmatch(host):
            raise BadJwksUri("names no host") from None
        return host
    if not is_public(str(literal)):
        raise BadJwksUri("names no host that is reached over the public internet")
    return str(literal)


def _port(port: int | None) -> int:
    if port == 0:
        raise BadJwksUri("has a port from 1 to 65535")
    return HTTPS_PORT if port is None else port
