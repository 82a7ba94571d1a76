"""How far this process goes to fetch keys: to which addresses, and whose certificates it believes."""

import socket
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from keyfence.auth.public_address import is_public

MAX_ADDRESSES = 4


class OutOfReach(Exception):
    """A place that is not called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where something lies; `target` is the path and the query."""

    host: str
    port: int
    target: str
    secure: bool = True

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.secure else 80) else f"{host}:{self.port}"


def resolved(host: str, port: int) -> Sequence[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[0]) for _, _, _, _, address in found]


@cache
def trusted() -> ssl.SSLContext:
    """Certificates of the authorities that this machine trusts, for the name that was asked for."""
    return ssl.create_default_context()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """A name that stands for one address that is not allowed is called at none of its addresses."""

    allows: Callable[[str], bool]
    resolve: Callable[[str, int], Sequence[str]] = resolved
    tls: Callable[[], ssl.SSLContext] = trusted

    def addresses(self, place: Place) -> Sequence[str]:
        found = list(dict.fromkeys(self.resolve(place.host, place.port)))
        if not found or not all(map(self.allows, found)):
            raise OutOfReach("its name stands for no address, or for one that is not called")
        return found[:MAX_ADDRESSES]


ANYWHERE = Reach(allows=lambda _: True)
PUBLIC = Reach(allows=is_public)
