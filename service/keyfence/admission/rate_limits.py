"""`TenantLimits`: the rates and the concurrency that one tenant may use in this process. `OverQuota`: the error if a
tenant uses more."""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from math import ceil, inf

from keyfence.errors import Throttled
from keyfence.log import EventThrottle
from keyfence.store.dynamodb.capacity import ConsumedCapacity
from keyfence.store.dynamodb.concurrency_limit import ConcurrencyLimit
from keyfence.tenancy.tenant import Tenant
from keyfence.tenancy.tier_quotas import Quotas
from keyfence_iam.tenant import TenantId
from keyfence_iam.token_bucket import TokenBucket

BURST_SECONDS = 2.0
"""A tenant that was idle may use the quota of this many seconds immediately."""

MAX_WAITING = 256
"""How many requests of one tenant may wait until other requests of the tenant have ended."""

TYPICAL_REQUEST_SECONDS = 0.05
"""Most requests end within this time. So a tenant needs no more concurrent requests than its request rate times this
time."""

QUEUE_RETRY_SECONDS = 1.0
"""When a client should retry if too many requests of the tenant wait."""

FREE_CPU_MS = 1.0
"""CPU time of each request that is not charged. A request whose document is cached needs about a tenth of it."""

MAX_CPU_STEP_MS = 25.0
"""The largest charge for one step of parsing or validating a request. No document within the limits needs so much time
for one step. A step that took longer contained a garbage collection, which the tenant did not cause."""

MIN_CPU_BURST_MS = 50.0
"""The smallest burst of CPU time. It is enough for a client's first documents, however small the quota is."""

NEW_DOCUMENTS_PER_SECOND = 20.0
NEW_DOCUMENTS_BURST = 200.0
"""How many new GraphQL documents a tenant may send, in a second and in a burst. A document is new if it is not in the
cache of this process. All tenants share the cache, so one tenant must not replace its whole content. An application
rarely has more than 200 documents."""

LOW_PRIORITY_SECONDS = 1.0
"""How long a tenant has low priority after a refusal."""

MAX_TENANTS = 10_000
EVICTION_CANDIDATES = 64
"""How many tenants are examined when a full cache needs room, so that an eviction stays fast."""


class OverQuota(Throttled):
    """A request is refused, because its tenant uses more than a quota allows."""

    def __init__(self, quota: str, description: str, retry_seconds: float) -> None:
        """`quota` is the name of the quota in the API. `description` is its value in words."""
        retry_ms = max(1, ceil(retry_seconds * 1000))
        super().__init__(
            f"the tenant's quota of {description} is used up; retry after {retry_ms} ms",
            retryAfterMs=retry_ms,
            quota=quota,
        )
        self.quota = quota


@dataclass(slots=True)
class TenantLimits:
    """Token buckets and concurrency limits of one tenant. The buckets refill at the rates of the tenant's quotas."""

    tenant: Tenant
    quotas: Quotas
    requests: TokenBucket
    read_units: TokenBucket
    write_units: TokenBucket
    cpu_ms: TokenBucket
    new_documents: TokenBucket
    new_document_parsing: ConcurrencyLimit
    """Allows one new document at a time, so that each is charged before the next is parsed."""
    running_requests: ConcurrencyLimit
    running_calls: ConcurrencyLimit
    """DynamoDB calls of all requests of the tenant."""
    max_calls: int
    """The size of `running_calls`."""
    refusal_log: EventThrottle = field(default_factory=EventThrottle)
    refused_at: float = -inf

    @classmethod
    def with_full_buckets(cls, tenant: Tenant, *, servers: int, max_calls: int, now: float) -> "TenantLimits":
        quotas = tenant.quotas
        return cls(
            tenant=tenant,
            quotas=quotas,
            requests=_full_bucket(quotas.requests_per_second / servers, now, min_burst=1.0),
            read_units=_full_bucket(quotas.read_units_per_second / servers, now),
            write_units=_full_bucket(quotas.write_units_per_second / servers, now),
            cpu_ms=_full_bucket(quotas.cpu_ms_per_second / servers, now, min_burst=MIN_CPU_BURST_MS),
            new_documents=TokenBucket.full(NEW_DOCUMENTS_PER_SECOND, NEW_DOCUMENTS_BURST, now),
            new_document_parsing=ConcurrencyLimit(1),
            running_requests=ConcurrencyLimit(_max_running(quotas.requests_per_second / servers, max_calls)),
            running_calls=ConcurrencyLimit(max_calls),
            max_calls=max_calls,
        )

    def admit(self, now: float) -> None:
        """Takes one request from the request rate. Raises OverQuota if CPU time, read units or requests are used up.

        CPU time is charged after a request is parsed, and read units after a call, so both balances can be negative.
        While one of them is negative, all requests are refused, because every request is parsed and reads items."""
        self._require_cpu_time(now)
        if seconds := self.read_units.seconds_until(0.0, now):
            raise OverQuota("readUnitsPerSecond", f"{self.quotas.read_units_per_second:,} read units a second", seconds)
        if seconds := self.requests.seconds_until(1.0, now):
            raise OverQuota("requestsPerSecond", f"{self.quotas.requests_per_second:,} requests a second", seconds)
        self.requests.take(1.0, now)

    def take_new_document(self, now: float) -> None:
        """Raises OverQuota if CPU time is used up, or if the tenant sends too many documents that this process does not
        know."""
        self._require_cpu_time(now)
        if seconds := self.new_documents.seconds_until(1.0, now):
            description = f"{NEW_DOCUMENTS_PER_SECOND:g} new documents a second"
            raise OverQuota("newDocumentsPerSecond", description, seconds)
        self.new_documents.take(1.0, now)

    def _require_cpu_time(self, now: float) -> None:
        if seconds := self.cpu_ms.seconds_until(0.0, now):
            raise OverQuota("cpuMsPerSecond", f"{self.quotas.cpu_ms_per_second:,} ms of CPU time a second", seconds)

    def require_write_units(self, now: float) -> None:
        """Raises OverQuota if the balance of write units is negative."""
        if seconds := self.write_units.seconds_until(0.0, now):
            description = f"{self.quotas.write_units_per_second:,} write units a second"
            raise OverQuota("writeUnitsPerSecond", description, seconds)

    def require_waiting_room(self) -> None:
        """Raises OverQuota if too many requests of the tenant already wait for others to end."""
        if self.running_requests.waiting_count >= MAX_WAITING:
            raise OverQuota("requestsAtOnce", "requests at once", QUEUE_RETRY_SECONDS)

    def charge(self, consumed: ConsumedCapacity, now: float) -> None:
        if consumed.read_units:
            self.read_units.take(consumed.read_units, now)
        if consumed.write_units:
            self.write_units.take(consumed.write_units, now)

    def update(self, tenant: Tenant, servers: int, now: float) -> None:
        """Uses the quotas of the changed tenant. Tokens that were taken stay taken."""
        self.tenant, self.quotas = tenant, tenant.quotas
        _resize_bucket(self.requests, self.quotas.requests_per_second / servers, now, min_burst=1.0)
        _resize_bucket(self.read_units, self.quotas.read_units_per_second / servers, now)
        _resize_bucket(self.write_units, self.quotas.write_units_per_second / servers, now)
        _resize_bucket(self.cpu_ms, self.quotas.cpu_ms_per_second / servers, now, min_burst=MIN_CPU_BURST_MS)
        self.running_requests.resize(_max_running(self.quotas.requests_per_second / servers, self.max_calls))

    def has_low_priority(self, now: float) -> bool:
        """Whether requests of other tenants run before those of this tenant. A refusal has this effect for
        LOW_PRIORITY_SECONDS.

        A tenant keeps its priority if more of its requests wait than fit into a burst, because it then already gets
        less than its quota."""
        was_refused_recently = now - self.refused_at < LOW_PRIORITY_SECONDS
        return was_refused_recently and self.running_requests.waiting_count <= self.requests.burst

    def note_refusal(self, now: float) -> bool:
        """Remembers the time of a refusal. Returns whether the refusal should be logged."""
        self.refused_at = now
        return self.refusal_log.count(1, now) > 0

    def is_unused(self, now: float) -> bool:
        """Whether these limits can be dropped without loss: new limits would equal them."""
        limits = (self.new_document_parsing, self.running_requests, self.running_calls)
        is_idle = all(limit.is_idle for limit in limits)
        buckets = (self.requests, self.read_units, self.write_units, self.cpu_ms, self.new_documents)
        return is_idle and all(bucket.is_full(now) for bucket in buckets)


def _full_bucket(rate: float, now: float, *, min_burst: float = 0.0) -> TokenBucket:
    return TokenBucket.full(rate, max(rate * BURST_SECONDS, min_burst), now)


def _resize_bucket(bucket: TokenBucket, rate: float, now: float, *, min_burst: float = 0.0) -> None:
    bucket.resize(rate, max(rate * BURST_SECONDS, min_burst), now)


def _max_running(requests_per_second: float, max_calls: int) -> int:
    """Returns how many requests of a tenant may run at the same time: as many as its rate needs, but at most half of
    `max_calls`, so that a burst of one tenant does not occupy the whole processor."""
    return max(1, min(max_calls // 2, ceil(requests_per_second * TYPICAL_REQUEST_SECONDS)))


@dataclass(slots=True)
class TenantLimitsCache:
    """The limits of the tenants that this process served last."""

    servers: int = 1
    """The number of processes that share a quota. Each process grants an equal part of the quota."""
    max_calls: int = 16
    """Concurrent DynamoDB calls of one tenant in this process."""
    clock: Callable[[], float] = time.monotonic
    max_tenants: int = MAX_TENANTS
    _cached: OrderedDict[TenantId, TenantLimits] = field(default_factory=OrderedDict)

    def __len__(self) -> int:
        return len(self._cached)

    def of(self, tenant: Tenant) -> TenantLimits:
        """Returns the limits of a tenant, with its current quotas."""
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
        limits = TenantLimits.with_full_buckets(tenant, servers=self.servers, max_calls=self.max_calls, now=now)
        self._cached[tenant.id] = limits
        return limits

    def _evict(self, now: float) -> None:
        """Drops the limits of one tenant. The candidates are the tenants that were served longest ago. The first of
        them whose limits are unused is chosen, or the very first if all limits are in use."""
        candidates = list(islice(self._cached.items(), EVICTION_CANDIDATES))
        unused_tenants = (id for id, limits in candidates if limits.is_unused(now))
        first_candidate = candidates[0][0]
        del self._cached[next(unused_tenants, first_candidate)]
