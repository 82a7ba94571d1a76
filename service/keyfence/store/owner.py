"""Whose an item is, by its partition."""

from keyfence_iam.boundary import BadTenantId, TenantId, tenant_id


def owner_of(partition: str) -> TenantId | None:
    """Whose a partition is, if it is a tenant's."""
    realm, _, rest = partition.partition("#")
    try:
        return tenant_id(rest.partition("#")[0]) if realm == "TENANT" else None
    except BadTenantId:
        return None
