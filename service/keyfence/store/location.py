"""Where the items of a fence are, as far as it is known and as long as that can be relied on."""

from dataclasses import dataclass
from math import inf

from keyfence.store.shards import UNSHARDED, ShardMap
from keyfence_iam.sts.session_spec import TableAccess
from keyfence_iam.tenant import TenantId

TOO_OLD = "this took too long to be sure where its items are; retry"
LOST = "this worker could not keep its lease, and another may have taken over; run it again"


@dataclass(slots=True, kw_only=True)
class TenantLocation:
    """The table that a tenant's items are read from and the slots of its collections; after `until`, by the clock of
    its caller, nobody acts on it any more.

    Whoever works longer than that keeps it fresh: what is asked next goes by what it says then. Only the tables stay
    what they were when the handle was made."""

    tenant: TenantId | None = None
    reads: TableAccess = TableAccess.POOL
    also: TableAccess | None = None
    """What is written is written there too: the tenant is being moved."""
    shadow: bool = False
    """What is read is read there too, and compared."""
    shards: ShardMap = UNSHARDED
    until: float = inf
    ended: str = TOO_OLD
    """What is said after that."""
    leased_until: float = inf
    """Until when whoever migrates the items may count on doing so alone; it is kept up while calls are under way."""

    @property
    def placement(self) -> TableAccess:
        return TableAccess.BOTH if self.also else self.reads
