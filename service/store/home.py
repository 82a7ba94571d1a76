"""Where the items of a fence are, as far as it is known and as long as that can be relied on."""

from dataclasses import dataclass
from math import inf

from iam.boundary import TenantId
from service.store.shards import UNSHARDED, ShardMap


@dataclass(slots=True, kw_only=True)
class Home:
    """The slots of a tenant's collections; after `until`, by the clock of its caller, nobody acts on it any more.

    Whoever works longer than that keeps it fresh: what is asked next goes by what it says then."""

    tenant: TenantId | None = None
    shards: ShardMap = UNSHARDED
    until: float = inf
