"""Tenant ids, the key prefixes `TENANT#<id>#` and `CONTROL#`, shard suffixes of keys, and the session tag."""

import re
from collections.abc import Mapping
from typing import NewType

TenantId = NewType("TenantId", str)

CONTROL_PLANE_PREFIX = "CONTROL#"
SESSION_TAG = "tenant"
"""The tag of an STS session that names its tenant."""
SESSION_TAG_VARIABLE = f"${{aws:PrincipalTag/{SESSION_TAG}}}"
TENANT_ID_PATTERN = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])")

_TENANT_KEY = re.compile(rf"TENANT#({TENANT_ID_PATTERN.pattern})#")
_SHARDED_KEY = re.compile(r"(.*#)([0-9a-f]{2})", re.DOTALL)
"""A key that ends with the number of its shard in two hexadecimal digits."""


class InvalidTenantId(ValueError):
    """A tenant id that does not have 2 to 32 characters of a-z, 0-9 and inner hyphens."""


def parse_tenant_id(text: object) -> TenantId:
    if not isinstance(text, str) or not TENANT_ID_PATTERN.fullmatch(text):
        raise InvalidTenantId(
            "a tenant id is 2 to 32 characters of a-z, 0-9 and '-', and neither begins nor ends with '-'"
        )
    return TenantId(text)


def tenant_key_prefix(tenant: str) -> str:
    """Returns the prefix of all partition keys of this tenant.

    Without the final '#', the prefix of acme would also be a prefix of the keys of acmecorp.
    """
    return f"TENANT#{tenant}#"


def tenant_of_key(key: str) -> TenantId | None:
    """Returns the tenant that a partition key belongs to, or None if it belongs to no tenant."""
    match = _TENANT_KEY.match(key)
    return TenantId(match[1]) if match else None


def split_shard(key: str) -> tuple[str, str | None]:
    """Returns the partition key without its shard, and the shard. The shard is None if the key has none."""
    match = _SHARDED_KEY.fullmatch(key)
    return (match[1], match[2]) if match else (key, None)


def session_key_prefix(session_tags: Mapping[str, str]) -> str:
    """Returns the prefix of the keys that a session may write.

    This is the prefix of the session's tenant. A session without a tenant may write keys of the control plane.
    """
    tenant = next((value for key, value in session_tags.items() if key.casefold() == SESSION_TAG), None)
    return CONTROL_PLANE_PREFIX if tenant is None else tenant_key_prefix(tenant)
