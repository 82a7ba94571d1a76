"""`TenantLimits` (rates and concurrency of one tenant), the cache of them."""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from math import ceil, inf

from keyfence.errors import Throttled
from keyfence.store.dynamodb.capacity import ConsumedCapacity
from keyfence.store.dynamodb.flow_control import ConcurrencyLimit
from keyfence.tenancy.quotas import Quotas
from keyfence.tenancy.tenant import Tenant
from keyfence_iam.tenant import TenantId
from keyfence_iam.token_bucket import TokenBucket

BURST_SECONDS = 2.0
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
class TenantLimits:
    """Three buckets and two lanes, which no other tenant takes from."""

    tenant: Tenant
    quotas: Quotas
    requests: TokenBucket
    read_units: TokenBucket
    write_units: TokenBucket
    running: ConcurrencyLimit
    calls: ConcurrencyLimit
    width: int
    told_at: float = -inf
    refused_at: float = -inf

    @classmethod
    def whole(cls, tenant: Tenant, *, servers: int, width: int, now: float) -> "TenantLimits":
        quotas = tenant.quotas
        return cls(
            tenant=tenant,
            quotas=quotas,
            requests=_bucket(quotas.requests_per_second / servers, now, minimum_burst=1.0),
            read_units=_bucket(quotas.read_units_per_second / servers, now),
            write_units=_bucket(quotas.write_units_per_second / servers, now),
            running=ConcurrencyLimit(_at_once(quotas.requests_per_second / servers, width)),
            calls=ConcurrencyLimit(width),
            width=width,
        )

    def admit(self, now: float) -> None:
        """One request more. Who owes read units waits, since there is no request that does not read."""
        if wait := self.read_units.seconds_until(0.0, now):
            raise OverQuota("readUnitsPerSecond", f"{self.quotas.read_units_per_second:,} read units a second", wait)
        if wait := self.requests.seconds_until(1.0, now):
            raise OverQuota("requestsPerSecond", f"{self.quotas.requests_per_second:,} requests a second", wait)
        self.requests.take(1.0, now)

    def admit_write(self, now: float) -> None:
        if wait := self.write_units.seconds_until(0.0, now):
            raise OverQuota("writeUnitsPerSecond", f"{self.quotas.write_units_per_second:,} write units a second", wait)

    def admit_concurrent(self) -> None:
        if self.running.waiting >= MOST_WAITING:
            raise OverQuota("requestsAtOnce", "requests at once", BUSY_SECONDS)

    def charge(self, spent: ConsumedCapacity, now: float) -> None:
        if spent.read_units:
            self.read_units.take(spent.read_units, now)
        if spent.write_units:
            self.write_units.take(spent.write_units, now)

    def fit(self, tenant: Tenant, servers: int, now: float) -> None:
        """To the quotas of today; what was used of those of yesterday stays used."""
        self.tenant, self.quotas = tenant, tenant.quotas
        _resize(self.requests, self.quotas.requests_per_second / servers, now, minimum_burst=1.0)
        _resize(self.read_units, self.quotas.read_units_per_second / servers, now)
        _resize(self.write_units, self.quotas.write_units_per_second / servers, now)
        self.running.fit(_at_once(self.quotas.requests_per_second / servers, self.width))

    def has_low_priority(self, now: float) -> bool:
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


def _bucket(rate: float, now: float, *, minimum_burst: float = 0.0) -> TokenBucket:
    return TokenBucket.full(rate, max(rate * BURST_SECONDS, minimum_burst), now)


def _resize(bucket: TokenBucket, rate: float, now: float, *, minimum_burst: float = 0.0) -> None:
    bucket.resize(rate, max(rate * BURST_SECONDS, minimum_burst), now)


def _at_once(per_second: float, width: int) -> int:
    """What the quota needs, at most half as many as calls: a burst must not have the processor to itself."""
    return max(1, min(width // 2, ceil(per_second * REQUEST_SECONDS)))


LARGEST = 10_000
LOOKED_AT = 64


@dataclass(slots=True)
class TenantLimitsCache:
    """Those of the tenants that were served last; each of `servers` processes gives out its part of every quota."""

    servers: int = 1
    width: int = 16
    clock: Callable[[], float] = time.monotonic
    largest: int = LARGEST
    _known: OrderedDict[TenantId, TenantLimits] = field(default_factory=OrderedDict)

    def __len__(self) -> int:
        return len(self._known)

    def of(self, tenant: Tenant) -> TenantLimits:
        known = self._known.get(tenant.id)
        if known is None:
            return self._made(tenant, self.clock())
        self._known.move_to_end(tenant.id)
        if known.tenant is not tenant:
            known.fit(tenant, self.servers, self.clock())
        return known

    def _made(self, tenant: Tenant, now: float) -> TenantLimits:
        self._make_room(now)
        made = self._known[tenant.id] = TenantLimits.whole(tenant, servers=self.servers, width=self.width, now=now)
        return made

    def _make_room(self, now: float) -> None:
        """Of those that were served longest ago the first goes with which nothing is forgotten, or else the first."""
        if len(self._known) < self.largest:
            return
        oldest = list(islice(self._known.items(), LOOKED_AT))
        del self._known[next((id for id, one in oldest if one.is_untouched(now)), oldest[0][0])]
