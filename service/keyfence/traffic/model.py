"""What is kept of traffic: each server's last minute, and what was advised."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from keyfence_iam.boundary import TenantId

KEPT = timedelta(minutes=10)
"""How long after its last word a server's item stays; nobody reads it for longer than a minute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTraffic:
    """The hottest partitions of one server as JSON text; it is put again while any are hot."""

    server: str
    partitions: str
    lists: str
    ttl: int
    created_at: datetime
    updated_at: datetime
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Advised:
    """That a collection should have more slots, and what was made of it.

    `since` is when it began to be true without a break, `updated_at` when it was last seen to be."""

    tenant: TenantId
    collection: str
    shards: int
    since: datetime
    advised_at: datetime
    ttl: int
    created_at: datetime
    updated_at: datetime
    grown_at: datetime | None = None
    version: int = 1
