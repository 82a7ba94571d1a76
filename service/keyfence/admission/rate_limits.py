"""`TenantLimits`: the rates and the concurrency that one tenant may use in this process, and the cache of them."""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from math import ceil, inf

from keyfence.errors import Throttled
from keyfence.store.dynamodb.capacity import ConsumedCapacity
from keyfence.store.dynamodb.concurrency_limit import ConcurrencyLimit
from keyfence.tenancy.tenant import Tenant
from keyfence.tenancy.tier_quotas import Quotas
from keyfence_iam.tenant import TenantId
from keyfence_iam.token_bucket import TokenBucket

BURST_SECONDS = 2.0
MAX_WAITING = 256
"""Requests of one tenant that may wait until others of it end."""

REQUEST_SECONDS = 0.05
"""Requests rarely run longer. A tenant needs no more concurrent requests than its rate times this."""

RETRY_SECONDS = 1.0
"""When to retry if too many requests of a tenant wait."""

LOG_INTERVAL_SECONDS = 10.0
LOW_PRIORITY_SECONDS = 1.0
"""How long a tenant has low priority after a refusal."""

MAX_TENANTS = 10_000
EVICTION_CANDIDATES = 64


class OverQuota(Throttled):
    """The tenant uses more than its quota allows. `quota` names the quota."""

    def __init__(self, quota: str, description: str, seconds: float) -> None:
        wait = max(1, ceil(seconds * 1000))
        super().__init__(
            f"the tenant's quota of {description} is used up; retry after {wait} ms", retryAfterMs=wait, quota=quota
        )
        self.quota = quota


@dataclass(slots=True)
class TenantLimits:
    """Token buckets and concurrency limits of one tenant. `max_calls` bounds its concurrent DynamoDB calls."""

    tenant: Tenant
    quotas: Quotas
    requests: TokenBucket
    read_units: TokenBucket
    write_units: TokenBucket
    running: ConcurrencyLimit
    calls: ConcurrencyLimit
    max_calls: int
    logged_at: float = -inf
    refused_at: float = -inf

    @classmethod
    def full(cls, tenant: Tenant, *, servers: int, max_calls: int, now: float) -> "TenantLimits":
        quotas = tenant.quotas
        return cls(
            tenant=tenant,
            quotas=quotas,
            requests=_bucket(quotas.requests_per_second / servers, now, min_burst=1.0),
            read_units=_bucket(quotas.read_units_per_second / servers, now),
            write_units=_bucket(quotas.write_units_per_second / servers, now),
            running=ConcurrencyLimit(_max_running(quotas.requests_per_second / servers, max_calls)),
            calls=ConcurrencyLimit(max_calls),
            max_calls=max_calls,
        )

    def admit(self, now: float) -> None:
        """Take one request. A tenant with a negative balance of read units waits, since every request reads."""
        if wait := self.read_units.seconds_until(0.0, now):
            raise OverQuota("readUnitsPerSecond", f"{self.quotas.read_units_per_second:,} read units a second", wait)
        if wait := self.requests.seconds_until(1.0, now):
            raise OverQuota("requestsPerSecond", f"{self.quotas.requests_per_second:,} requests a second", wait)
        self.requests.take(1.0, now)

    def admit_write(self, now: float) -> None:
        if wait := self.write_units.seconds_until(0.0, now):
            raise OverQuota("writeUnitsPerSecond", f"{self.quotas.write_units_per_second:,} write units a second", wait)

    def admit_concurrent(self) -> None:
        if self.running.waiting >= MAX_WAITING:
            raise OverQuota("requestsAtOnce", "requests at once", RETRY_SECONDS)

    def charge(self, spent: ConsumedCapacity, now: float) -> None:
        if spent.read_units:
            self.read_units.take(spent.read_units, now)
        if spent.write_units:
            self.write_units.take(spent.write_units, now)

    def update(self, tenant: Tenant, servers: int, now: float) -> None:
        """Use the changed quotas of the tenant. Tokens that were taken stay taken."""
        self.tenant, self.quotas = tenant, tenant.quotas
        _resize(self.requests, self.quotas.requests_per_second / servers, now, min_burst=1.0)
        _resize(self.read_units, self.quotas.read_units_per_second / servers, now)
        _resize(self.write_units, self.quotas.write_units_per_second / servers, now)
        self.running.resize(_max_running(self.quotas.requests_per_second / servers, self.max_calls))

    def has_low_priority(self, now: float) -> bool:
        """Whether requests of other tenants go first: after a refusal, unless so many requests wait that yielding would
        give the tenant less than its quota."""
        return now - self.refused_at < LOW_PRIORITY_SECONDS and self.running.waiting <= self.requests.burst

    def refuse(self, now: float) -> bool:
        """Note a refusal. Returns whether to log it: once in ten seconds."""
        self.refused_at = now
        if now - self.logged_at < LOG_INTERVAL_SECONDS:
            return False
        self.logged_at = now
        return True

    def is_unused(self, now: float) -> bool:
        """Whether new limits would be the same, so that these can be dropped."""
        buckets = (self.requests, self.read_units, self.write_units)
        return self.running.is_idle and self.calls.is_idle and all(bucket.is_full(now) for bucket in buckets)


def _bucket(rate: float, now: float, *, min_burst: float = 0.0) -> TokenBucket:
    return TokenBucket.full(rate, max(rate * BURST_SECONDS, min_burst), now)


def _resize(bucket: TokenBucket, rate: float, now: float, *, min_burst: float = 0.0) -> None:
    bucket.resize(rate, max(rate * BURST_SECONDS, min_burst), now)


def _max_running(requests_per_second: float, max_calls: int) -> int:
    """As many as the rate needs, but at most half of the calls: a burst must not take the whole processor."""
    return max(1, min(max_calls // 2, ceil(requests_per_second * REQUEST_SECONDS)))


@dataclass(slots=True)
class TenantLimitsCache:
    """Limits of the tenants that this process served last. Each of `servers` processes grants its share of a quota."""

    servers: int = 1
    max_calls: int = 16
    clock: Callable[[], float] = time.monotonic
    max_tenants: int = MAX_TENANTS
    _cached: OrderedDict[TenantId, TenantLimits] = field(default_factory=OrderedDict)

    def __len__(self) -> int:
        return len(self._cached)

    def of(self, tenant: Tenant) -> TenantLimits:
        limits = self._cached.get(tenant.id)
        if limits is None:
            return self._add(tenant, self.clock())
        self._cached.move_to_end(tenant.id)
        if limits.tenant is not tenant:
            limits.update(tenant, self.servers, self.clock())
        return limits

    def _add(self, tenant: Tenant, now: float) -> TenantLimits:
        if len(self._cached) >= self.max_tenants:
            self._evict(now)
        limits = TenantLimits.full(tenant, servers=self.servers, max_calls=self.max_calls, now=now)
        self._cached[tenant.id] = limits
        return limits

    def _evict(self, now: float) -> None:
        """Drop the first unused limits among those that were served longest ago, or the oldest if all are in use."""
        oldest = list(islice(self._cached.items(), EVICTION_CANDIDATES))
        del self._cached[next((id for id, limits in oldest if limits.is_unused(now)), oldest[0][0])]
