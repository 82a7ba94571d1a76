"""`TenantLocation`: which tables and shards contain the items of a tenant, and until when this information is valid."""

from dataclasses import dataclass
from math import inf

from keyfence.store.shards import UNSHARDED, ShardMap
from keyfence_iam.sts.session_spec import TableAccess
from keyfence_iam.tenant import TenantId

LOCATION_EXPIRED = "the request took too long, and the tenant's items may be elsewhere by now; retry"
LEASE_LOST = "this worker could not renew its lease, and another worker may have taken over the job; run the job again"


@dataclass(slots=True, kw_only=True)
class TenantLocation:
    """The tables of a tenant, and the shards of its collections.

    No call is made after `valid_until`. Work that takes longer renews `shards` and `valid_until`, and later calls use
    the new values. A table handle keeps the tables that it was created with."""

    tenant: TenantId | None = None
    """None for the control plane."""
    read_from: TableAccess = TableAccess.POOL
    also_write_to: TableAccess | None = None
    """A second table for every write, while the tenant moves to that table."""
    compare_reads: bool = False
    """Whether every read is also made on the second table, to compare the answers."""
    shards: ShardMap = UNSHARDED
    valid_until: float = inf
    """A time of the caller's monotonic clock."""
    expired_message: str = LOCATION_EXPIRED
    """The error message of a call after `valid_until`."""
    leased_until: float = inf
    """The end of a job's lease on these items, by the same clock. The job renews the lease while it runs."""

    @property
    def table_access(self) -> TableAccess:
        """The tables that credentials for this location must allow."""
        return TableAccess.BOTH if self.also_write_to else self.read_from
