"""Tenant ids, the key prefixes `TENANT#<id>#` and `CONTROL#`, the session tag."""

import re
from typing import NewType

TenantId = NewType("TenantId", str)

CONTROL_PLANE_PREFIX = "CONTROL#"
TENANT_ID_PATTERN = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])")


class InvalidTenantId(ValueError):
    """A tenant id that is not two to thirty-two of a-z, 0-9 and inner hyphens."""


def parse_tenant_id(text: object) -> TenantId:
    if not isinstance(text, str) or not TENANT_ID_PATTERN.fullmatch(text):
        raise InvalidTenantId(
            "a tenant id is 2 to 32 characters of a-z, 0-9 and '-', and neither begins nor ends with '-'"
        )
    return TenantId(text)


def tenant_key_prefix(tenant: str) -> str:
    """The prefix of every partition of this tenant. The closing '#' keeps acme out of acmecorp."""
    return f"TENANT#{tenant}#"


SESSION_TAG = "tenant"
SESSION_TAG_VARIABLE = f"${{aws:PrincipalTag/{SESSION_TAG}}}"
