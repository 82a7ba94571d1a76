"""Whose tokens open a tenant: an issuer, claimed by one tenant, and its keys."""

import hashlib
from dataclasses import dataclass
from datetime import datetime

from iam.boundary import TenantId


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The one item that can hold an issuer. Exactly one of `jwks`, which is JSON text, and `jwks_uri` is there."""

    digest: str
    issuer: str
    tenant: TenantId
    created_at: datetime
    updated_at: datetime
    version: int = 1
    jwks: str | None = None
    jwks_uri: str | None = None


def issuer_digest(issuer: str) -> str:
    """Issuers are addresses of any length; their digests are not."""
    return hashlib.sha256(issuer.encode()).hexdigest()
