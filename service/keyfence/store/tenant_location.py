"""`TenantLocation`: which tables and shards contain the items of a tenant, and until when this is certain."""

from dataclasses import dataclass
from math import inf

from keyfence.store.shards import UNSHARDED, ShardMap
from keyfence_iam.sts.session_spec import TableAccess
from keyfence_iam.tenant import TenantId

LOCATION_EXPIRED = "the request took too long, and the tenant's items may be elsewhere by now; retry"
LEASE_LOST = "this worker could not renew its lease, and another worker may have taken over; run it again"


@dataclass(slots=True, kw_only=True)
class TenantLocation:
    """The table that a tenant's items are read from, and the shards of its collections.

    No call is made after `valid_until`, by the clock of the caller. Work that takes longer sets `shards` and
    `valid_until` again; the next call uses them. A handle keeps the tables that it was made with."""

    tenant: TenantId | None = None
    """None for the control plane."""
    read_from: TableAccess = TableAccess.POOL
    also_write_to: TableAccess | None = None
    """A second table for every write, while the tenant moves there."""
    compare_reads: bool = False
    """Whether every read is also made on the second table, and the answers are compared."""
    shards: ShardMap = UNSHARDED
    valid_until: float = inf
    expired_message: str = LOCATION_EXPIRED
    """The error message of a call after `valid_until`."""
    leased_until: float = inf
    """The end of the lease of a job on these items. The job renews it while calls are in progress."""

    @property
    def table_access(self) -> TableAccess:
        return TableAccess.BOTH if self.also_write_to else self.read_from
