"""Tenant ids, the key prefixes `TENANT#<id>#` and `CONTROL#`, the session tag."""

import re
from typing import NewType

TenantId = NewType("TenantId", str)

CONTROL = "CONTROL#"
TENANT_ID = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])")


class BadTenantId(ValueError):
    """A tenant id that is not two to thirty-two of a-z, 0-9 and inner hyphens."""


def tenant_id(text: object) -> TenantId:
    if not isinstance(text, str) or not TENANT_ID.fullmatch(text):
        raise BadTenantId("a tenant id is 2 to 32 characters of a-z, 0-9 and '-', and neither begins nor ends with '-'")
    return TenantId(text)


def tenant_boundary(tenant: str) -> str:
    """The prefix of every partition of this tenant. The closing '#' keeps acme out of acmecorp."""
    return f"TENANT#{tenant}#"


TENANT_TAG = "tenant"
TENANT_OF_SESSION = f"${{aws:PrincipalTag/{TENANT_TAG}}}"
