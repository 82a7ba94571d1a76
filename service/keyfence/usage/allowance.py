"""What one tenant may still use of this process: requests, units, and a share of its threads."""

from dataclasses import dataclass
from math import ceil, inf

from keyfence.errors import Throttled
from keyfence.store.dynamodb.capacity import Spent
from keyfence.store.lane import Lane
from keyfence.tenancy.model import Tenant
from keyfence.tenancy.quotas import Quotas
from keyfence.usage.bucket import Bucket

MOST_WAITING = 256
"""Requests of one tenant that may wait for its others to end."""

REQUEST_SECONDS = 0.05
"""A request is hardly ever longer under way, so that by its quota a tenant never needs more of them at once."""

BUSY_SECONDS = 1.0
TOLD_SECONDS = 10.0
OVER_SECONDS = 1.0
"""For how long a tenant counts as over its quota that was refused something."""


class OverQuota(Throttled):
    """Asked too fast; `quota` names what is used up."""

    def __init__(self, quota: str, words: str, seconds: float) -> None:
        wait = max(1, ceil(seconds * 1000))
        super().__init__(
            f"the tenant's quota of {words} is used up; retry after {wait} ms", retryAfterMs=wait, quota=quota
        )
        self.quota = quota


@dataclass(slots=True)
class Allowance:
    """Three buckets and two lanes, which no other tenant takes from."""

    tenant: Tenant
    quotas: Quotas
    requests: Bucket
    read_units: Bucket
    write_units: Bucket
    running: Lane
    calls: Lane
    width: int
    told_at: float = -inf
    refused_at: float = -inf

    @classmethod
    def whole(cls, tenant: Tenant, *, servers: int, width: int, now: float) -> "Allowance":
        quotas = tenant.quotas
        return cls(
            tenant=tenant,
            quotas=quotas,
            requests=Bucket.full(quotas.requests_per_second / servers, now, least=1.0),
            read_units=Bucket.full(quotas.read_units_per_second / servers, now),
            write_units=Bucket.full(quotas.write_units_per_second / servers, now),
            running=Lane(_at_once(quotas.requests_per_second / servers, width)),
            calls=Lane(width),
            width=width,
        )

    def admit(self, now: float) -> None:
        """One request more. Who owes read units waits, since there is no request that does not read."""
        if wait := self.read_units.wait(0.0, now):
            raise OverQuota("readUnitsPerSecond", f"{self.quotas.read_units_per_second:,} read units a second", wait)
        if wait := self.requests.wait(1.0, now):
            raise OverQuota("requestsPerSecond", f"{self.quotas.requests_per_second:,} requests a second", wait)
        self.requests.take(1.0, now)

    def admit_write(self, now: float) -> None:
        if wait := self.write_units.wait(0.0, now):
            raise OverQuota("writeUnitsPerSecond", f"{self.quotas.write_units_per_second:,} write units a second", wait)

    def admit_running(self) -> None:
        if self.running.waiting >= MOST_WAITING:
            raise OverQuota("requestsAtOnce", "requests at once", BUSY_SECONDS)

    def charge(self, spent: Spent, now: float) -> None:
        if spent.read_units:
            self.read_units.take(spent.read_units, now)
        if spent.write_units:
            self.write_units.take(spent.write_units, now)

    def fit(self, tenant: Tenant, servers: int, now: float) -> None:
        """To the quotas of today; what was used of those of yesterday stays used."""
        self.tenant, self.quotas = tenant, tenant.quotas
        self.requests.fit(self.quotas.requests_per_second / servers, now)
        self.read_units.fit(self.quotas.read_units_per_second / servers, now)
        self.write_units.fit(self.quotas.write_units_per_second / servers, now)
        self.running.fit(_at_once(self.quotas.requests_per_second / servers, self.width))

    def gives_way(self, now: float) -> bool:
        """To those who ask for no more than they have; but not where it would fall behind its quota by that."""
        return now - self.refused_at < OVER_SECONDS and self.running.waiting <= self.requests.burst

    def refuse(self, now: float) -> bool:
        """Whether that is news: once in so many seconds, however often it happens."""
        self.refused_at = now
        if now - self.told_at < TOLD_SECONDS:
            return False
        self.told_at = now
        return True

    def is_untouched(self, now: float) -> bool:
        """It could be forgotten: a new one would be the same."""
        buckets = (self.requests, self.read_units, self.write_units)
        return self.running.empty and self.calls.empty and all(bucket.is_full(now) for bucket in buckets)


def _at_once(per_second: float, width: int) -> int:
    """What the quota needs, at most half as many as calls: a burst must not have the processor to itself."""
    return max(1, min(width // 2, ceil(per_second * REQUEST_SECONDS)))
