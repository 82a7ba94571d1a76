"""Where traffic goes."""

from typing import NamedTuple

from keyfence_iam.boundary import TenantId

TABLE = "table"


class Place(NamedTuple):
    """One partition key value of a table, or of its index of that name; whose it is.

    A tenant has two tables while it is moved from one to the other."""

    tenant: TenantId
    where: str
    partition: str
    table: str = ""


def place_of(tenant: TenantId, where: str, partition: str, table: str) -> Place:
    """Made for every call, and in a third of the time that Place itself takes."""
    return tuple.__new__(Place, (tenant, where, partition, table))
