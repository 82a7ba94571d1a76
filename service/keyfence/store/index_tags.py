"""`IndexTags`: the secret part of the index keys of each tenant."""

import hmac
from base64 import b32encode
from dataclasses import dataclass

from keyfence_iam.tenant import TenantId

TAG_LENGTH = 10
"""In characters. Each character has 5 random bits, so an index tag is one of 2**50 texts."""


@dataclass(frozen=True, slots=True)
class IndexTags:
    """Computes the index tags of tenants. An index tag is part of every index key of its tenant.

    IAM lets a session write any index key. A session of another tenant does not know the index tag, so it cannot write
    an item into a list of this tenant."""

    key: bytes
    """The secret key of the deployment. It must have 32 bytes."""

    def __post_init__(self) -> None:
        if len(self.key) != 32:
            raise ValueError("the index key must have 32 bytes")

    def __repr__(self) -> str:
        return "IndexTags(key=<secret>)"

    def of(self, tenant: TenantId) -> str:
        """Returns the index tag of a tenant: lower-case letters and digits."""
        return b32encode(hmac.digest(self.key, tenant.encode(), "sha256"))[:TAG_LENGTH].decode().lower()
