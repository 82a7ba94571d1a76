"""Where traffic goes."""

from typing import NamedTuple

from iam.boundary import TenantId

TABLE = "table"


class Place(NamedTuple):
    """One partition key value of the table, or of the index of that name; whose it is."""

    tenant: TenantId
    where: str
    partition: str


def place_of(tenant: TenantId, where: str, partition: str) -> Place:
    """Made for every call, and in a third of the time that Place itself takes."""
    return tuple.__new__(Place, (tenant, where, partition))
