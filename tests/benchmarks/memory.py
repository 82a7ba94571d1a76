"""Measures the memory of a server's caches when they are full: `python -m tests.benchmarks.memory`.

Each cache is filled beyond its limit. The output has its number of entries and their bytes."""

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

BEYOND = 1.1
NOW = datetime(2026, 11, 16, tzinfo=UTC)
SESSIONS = TOKENS = 10_000
TOKEN = 800
"""The length of a session token, about as long as one of STS."""


@dataclass(frozen=True, slots=True)
class Filled:
    """A cache and its number of entries."""

    name: str
    limit: int
    kept: object
    count: int


def tenants(limit: int) -> Iterator[Tenant]:
    for number in range(int(limit * BEYOND)):
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


def registered() -> Filled:
    kept = tenant_cache.TenantCache(cast("Any", None))
    for tenant in tenants(tenant_cache.MAX_TENANTS):
        kept.invalidate(tenant)
    return Filled("tenants", tenant_cache.MAX_TENANTS, kept, len(kept._cached))


def allowed() -> Filled:
    kept = rate_limits.TenantLimitsCache()
    for tenant in tenants(rate_limits.MAX_TENANTS):
        kept.of(tenant)
    return Filled("allowances", rate_limits.MAX_TENANTS, kept, len(kept))


def counted() -> Filled:
    """Fills the ledger with as many entries as it keeps after a flush."""
    kept = ledger.UsageLedger()
    for tenant in tenants(int(ledger.MAX_ENTRIES / BEYOND)):
        kept.add(tenant.id, "users", ConsumedCapacity("Query", read_units=0.5))
    return Filled("usage not yet written", ledger.MAX_ENTRIES, kept, len(kept))


def vended() -> Filled:
    kept = SessionCache(
        lambda wanted, _: Credentials(f"ASIA{wanted.tenant}", "s" * 40, str(wanted.tenant).ljust(TOKEN, "t")),
        budget=call_budget(1e9),
        max_sessions=SESSIONS,
    )

    async def all_of_them() -> None:
        for tenant in tenants(SESSIONS):
            await kept.credentials(tenant_session(tenant.id, writes=False))

    asyncio.run(all_of_them())
    kept.close()
    return Filled("sessions", SESSIONS, kept, len(kept._sessions))


def verified() -> Filled:
    kept: TokenCache[Any] = TokenCache(TOKENS)
    for number in range(int(TOKENS * BEYOND)):
        nobody = cast("Any", None)
        one: VerifiedToken[Any] = VerifiedToken(
            caller=object(), key=nobody, issuer=nobody, checked_at=0.0, valid_until=1.0
        )
        kept.put(number.to_bytes(32, "big"), one)
    return Filled("tokens", TOKENS, kept, len(kept))


def watched() -> Filled:
    """Fills every step of a window, with different partitions in each."""
    seconds = itertools.count()
    kept: traffic_window.TrafficWindow[TenantPartition] = traffic_window.TrafficWindow(
        clock=lambda: next(seconds) * STEP_SECONDS / int(traffic_window.MAX_KEYS_PER_STEP * BEYOND)
    )
    for tenant in tenants(STEPS_PER_WINDOW * traffic_window.MAX_KEYS_PER_STEP):
        kept.add(TenantPartition(tenant.id, "GSI2", f"TENANT#{tenant.id}#OPEN#00"), 0.5, 1.0)
    return Filled(
        "partitions",
        STEPS_PER_WINDOW * traffic_window.MAX_KEYS_PER_STEP,
        kept,
        sum(len(one) for one in kept._sketches_by_step.values()),
    )


MEMORIES: tuple[Callable[[], Filled], ...] = (registered, allowed, counted, vended, verified, watched)


def main() -> None:
    for fill in MEMORIES:
        gc.collect()
        tracemalloc.start()
        filled = fill()
        gc.collect()
        taken, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        each = taken / max(1, filled.count)
        print(
            f"{filled.name:24} {filled.count:>8,} of {filled.limit:,}  {taken / 1e6:8.1f} MB  {each:8,.0f} bytes each"
        )


if __name__ == "__main__":
    main()
