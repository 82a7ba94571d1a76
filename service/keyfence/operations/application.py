"""An application: what somebody asks for who wants a tenant."""

from collections.abc import Container, Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256

import orjson

from keyfence.domains.users.model import checked_email
from keyfence.errors import BadInput
from keyfence.tenancy.issuers import Identity, identity_of
from keyfence.tenancy.model import NAME_LENGTH, checked_name
from keyfence.tenancy.quotas import Tier
from keyfence.validation import checked_line
from keyfence_iam.boundary import TenantId


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """Two that are equal in everything ask for the same tenant."""

    id: TenantId
    name: str
    tier: Tier
    owner_email: str
    owner_name: str
    issuer: str
    jwks: Mapping[str, object] | None = None
    jwks_uri: str | None = None

    def check(self, now: datetime, reserved: Container[str] = ()) -> Identity:
        """Nothing is claimed for an application with which something is wrong."""
        checked_name(self.name)
        checked_line(self.owner_name, "ownerName", NAME_LENGTH)
        try:
            checked_email(self.owner_email)
        except BadInput as error:
            raise BadInput(error.message.replace("email", "ownerEmail", 1), field="ownerEmail") from None
        return identity_of(self.id, self.issuer, self.jwks, self.jwks_uri, now, reserved=reserved)

    def digest(self) -> str:
        return sha256(orjson.dumps(self, option=orjson.OPT_SORT_KEYS)).hexdigest()
