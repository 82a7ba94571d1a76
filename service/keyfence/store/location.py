"""Where the items of a fence are, as far as it is known and as long as that can be relied on."""

from dataclasses import dataclass
from math import inf

from keyfence.store.shards import UNSHARDED, ShardMap
from keyfence_iam.sts.session_spec import TableAccess
from keyfence_iam.tenant import TenantId

LOCATION_EXPIRED = "this took too long to be sure where its items are; retry"
LEASE_LOST = "this worker could not keep its lease, and another may have taken over; run it again"


@dataclass(slots=True, kw_only=True)
class TenantLocation:
    """The table that a tenant's items are read from and the slots of its collections; after `until`, by the clock of
    its caller, nobody acts on it any more.

    Whoever works longer than that keeps it fresh: what is asked next goes by what it says then. Only the tables stay
    what they were when the handle was made."""

    tenant: TenantId | None = None
    read_from: TableAccess = TableAccess.POOL
    also_write_to: TableAccess | None = None
    """What is written is written there too: the tenant is being moved."""
    compare_reads: bool = False
    """What is read is read there too, and compared."""
    shards: ShardMap = UNSHARDED
    valid_until: float = inf
    expired_message: str = LOCATION_EXPIRED
    """What is said after that."""
    leased_until: float = inf
    """Until when whoever migrates the items may count on doing so alone; it is kept up while calls are under way."""

    @property
    def table_access(self) -> TableAccess:
        return TableAccess.BOTH if self.also_write_to else self.read_from
