"""What is kept of an issuer that a tenant owns, as whoever keeps it shows it."""

from hashlib import sha256
from typing import Protocol

from keyfence_iam.boundary import TenantId


class Owned(Protocol):
    """`jwks` is JSON text, `jwks_uri` an address; one of them is there."""

    @property
    def issuer(self) -> str: ...
    @property
    def tenant(self) -> TenantId: ...
    @property
    def jwks(self) -> str | None: ...
    @property
    def jwks_uri(self) -> str | None: ...


def imprint(owned: Owned) -> bytes:
    """By which it is seen whether the keys have changed, however long their text is."""
    return sha256(repr((owned.jwks, owned.jwks_uri)).encode()).digest()
