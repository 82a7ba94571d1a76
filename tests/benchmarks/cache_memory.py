"""Measures the memory of each cache of a server when it is full: `python -m tests.benchmarks.cache_memory`.

Each cache is filled beyond its limit. The output has the number of its entries and their bytes.
"""

import asyncio
import gc
import itertools
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

from keyfence.admission import rate_limits
from keyfence.auth.token_verifier import TokenCache, VerifiedToken
from keyfence.hot_partitions.partition_load import TenantPartition
from keyfence.store.dynamodb.capacity import ConsumedCapacity
from keyfence.tenancy import tenant_cache
from keyfence.tenancy.tenant import Tenant
from keyfence.tenancy.tenant_status import TenantStatus
from keyfence.tenancy.tier_quotas import Tier
from keyfence.usage import ledger
from keyfence_iam.credentials import Credentials
from keyfence_iam.dynamodb import traffic_window
from keyfence_iam.dynamodb.traffic_window import STEP_SECONDS, STEPS_PER_WINDOW
from keyfence_iam.sts import SessionCache
from keyfence_iam.sts.session_spec import tenant_session
from keyfence_iam.tenant import TenantId
from keyfence_iam.token_bucket import call_budget

OVERFILL_FACTOR = 1.1
"""Each cache gets this many times the entries of its limit."""
NOW = datetime(2026, 11, 16, tzinfo=UTC)
MAX_SESSIONS = MAX_TOKENS = 10_000
SESSION_TOKEN_LENGTH = 800
"""About the length of a session token of STS, in characters."""


@dataclass(frozen=True, slots=True)
class FilledCache:
    """A full cache, its limit and its number of entries."""

    name: str
    limit: int
    cache: object
    """Kept alive until its memory is measured."""
    count: int


def tenants(limit: int) -> Iterator[Tenant]:
    """Yields more tenants than the limit of a cache."""
    for number in range(int(limit * OVERFILL_FACTOR)):
        id = TenantId(f"tenant-{number:08d}")
        yield Tenant(
            id=id,
            name=f"The shop of {id}",
            tier=Tier.STANDARD,
            status=TenantStatus.ACTIVE,
            issuer=f"https://id.{id}.example",
            owner_id="usr_01KA5Y5X9GZ5T4J5B4J5B4J5B4",
            onboarding_digest="0" * 64,
            created_at=NOW,
            updated_at=NOW,
        )


def fill_tenant_cache() -> FilledCache:
    cache = tenant_cache.TenantCache(cast("Any", None))
    for tenant in tenants(tenant_cache.MAX_TENANTS):
        cache.invalidate(tenant)
    return FilledCache("tenants", tenant_cache.MAX_TENANTS, cache, len(cache._cached))


def fill_limits_cache() -> FilledCache:
    cache = rate_limits.TenantLimitsCache()
    for tenant in tenants(rate_limits.MAX_TENANTS):
        cache.of(tenant)
    return FilledCache("limits of tenants", rate_limits.MAX_TENANTS, cache, len(cache))


def fill_usage_ledger() -> FilledCache:
    """Fills the ledger with as many entries as it keeps after a flush."""
    cache = ledger.UsageLedger()
    for tenant in tenants(int(ledger.MAX_ENTRIES / OVERFILL_FACTOR)):
        cache.add(tenant.id, "users", ConsumedCapacity("Query", read_units=0.5))
    return FilledCache("usage to write", ledger.MAX_ENTRIES, cache, len(cache))


def fill_session_cache() -> FilledCache:
    cache = SessionCache(
        lambda spec, _: Credentials(f"ASIA{spec.tenant}", "s" * 40, str(spec.tenant).ljust(SESSION_TOKEN_LENGTH, "t")),
        budget=call_budget(1e9),
        max_sessions=MAX_SESSIONS,
    )

    async def request_all_sessions() -> None:
        for tenant in tenants(MAX_SESSIONS):
            await cache.credentials(tenant_session(tenant.id, may_write=False))

    asyncio.run(request_all_sessions())
    cache.close()
    return FilledCache("sessions", MAX_SESSIONS, cache, len(cache._sessions))


def fill_token_cache() -> FilledCache:
    cache: TokenCache[Any] = TokenCache(MAX_TOKENS)
    for number in range(int(MAX_TOKENS * OVERFILL_FACTOR)):
        unused = cast("Any", None)
        one: VerifiedToken[Any] = VerifiedToken(
            caller=object(), key=unused, issuer=unused, checked_at=0.0, valid_until=1.0
        )
        cache.put(number.to_bytes(32, "big"), one)
    return FilledCache("tokens", MAX_TOKENS, cache, len(cache))


def fill_traffic_window() -> FilledCache:
    """Fills every step of a window, with different partitions in each."""
    seconds = itertools.count()
    cache: traffic_window.TrafficWindow[TenantPartition] = traffic_window.TrafficWindow(
        clock=lambda: next(seconds) * STEP_SECONDS / int(traffic_window.MAX_KEYS_PER_STEP * OVERFILL_FACTOR)
    )
    for tenant in tenants(STEPS_PER_WINDOW * traffic_window.MAX_KEYS_PER_STEP):
        cache.add(TenantPartition(tenant.id, "GSI2", f"TENANT#{tenant.id}#OPEN#00"), 0.5, 1.0)
    return FilledCache(
        "partitions",
        STEPS_PER_WINDOW * traffic_window.MAX_KEYS_PER_STEP,
        cache,
        sum(len(one) for one in cache._sketches_by_step.values()),
    )


FILL_FUNCTIONS: tuple[Callable[[], FilledCache], ...] = (
    fill_tenant_cache,
    fill_limits_cache,
    fill_usage_ledger,
    fill_session_cache,
    fill_token_cache,
    fill_traffic_window,
)


def main() -> None:
    for fill in FILL_FUNCTIONS:
        gc.collect()
        tracemalloc.start()
        filled = fill()
        gc.collect()
        used_bytes, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        bytes_per_entry = used_bytes / max(1, filled.count)
        print(
            f"{filled.name:24} {filled.count:>8,} of {filled.limit:,}"
            f"  {used_bytes / 1e6:8.1f} MB  {bytes_per_entry:8,.0f} bytes each"
        )


if __name__ == "__main__":
    main()
