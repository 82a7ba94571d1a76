"""Where an issuer publishes its key set, and how it is fetched from there."""

import ipaddress
import time
from collections.abc import Mapping
from dataclasses import dataclass

import orjson
import urllib3
from urllib3.exceptions import HTTPError, LocationParseError
from urllib3.util import Timeout, parse_url

from service.auth.jwks import usable_keys
from service.auth.signing_key import SigningKey

MAX_BODY = 64 * 1024
_CHUNK = 8 * 1024


class JwksUnavailable(Exception):
    """The key set could not be had; the message is for the log."""


@dataclass(frozen=True, slots=True)
class JwksSource:
    """`silence` is how long the other side may say nothing, `whole` how long its answer may take, in seconds."""

    uri: str
    silence: float = 2.0
    whole: float = 4.0

    def __post_init__(self) -> None:
        if not _is_acceptable(self.uri):
            raise ValueError("a jwks_uri is an https:// address (http:// only on the loopback), without a user name")

    def fetch(self) -> Mapping[str, SigningKey]:
        """Blocks for seconds at worst: call it in a thread."""
        try:
            return usable_keys(orjson.loads(self._body()))
        except (HTTPError, OSError, ValueError) as error:
            raise JwksUnavailable(type(error).__name__) from error

    def _body(self) -> bytes:
        with urllib3.PoolManager(timeout=Timeout(total=self.silence), retries=False) as http:
            response = http.request("GET", self.uri, redirect=False, preload_content=False, decode_content=False)
            try:
                return _read(response, deadline=time.monotonic() + self.whole)
            finally:
                response.close()


def _is_acceptable(uri: str) -> bool:
    try:
        url = parse_url(uri)
    except LocationParseError:
        return False
    if not url.host or url.auth is not None:
        return False
    return url.scheme == "https" or (url.scheme == "http" and _is_loopback(url.host))


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _read(response: urllib3.BaseHTTPResponse, *, deadline: float) -> bytes:
    """The body, unless it is too big or drips: the socket's timeout starts anew with every byte, ours does not."""
    if response.status != 200:
        raise JwksUnavailable(f"answered {response.status}")
    body = bytearray()
    while chunk := response.read1(_CHUNK):
        body += chunk
        if len(body) > MAX_BODY:
            raise JwksUnavailable(f"more than {MAX_BODY} bytes")
        if time.monotonic() > deadline:
            raise JwksUnavailable("too slow")
    return bytes(body)
