"""Each tenant has its own limits, divided among the servers. They survive changes of quotas and eviction."""

import asyncio
from dataclasses import replace

import pytest

from keyfence.admission.rate_limits import (
    MAX_WAITING,
    NEW_DOCUMENTS_BURST,
    OverQuota,
    TenantLimitsCache,
)
from keyfence.errors import Code
from keyfence.store.dynamodb.capacity import ConsumedCapacity
from keyfence.tenancy.tenant import Tenant
from tests.fakes.clock import ManualClock
from tests.service.admission.tenant_quotas import tenant

READS = ConsumedCapacity("Query", 500.0, 0.0)
WRITES = ConsumedCapacity("PutItem", 0.0, 250.0)


def count_admitted(limits: TenantLimitsCache, tenant: Tenant, requests: int) -> int:
    """Returns how many of these requests are admitted now."""
    admitted = 0
    for _ in range(requests):
        try:
            limits.of(tenant).admit(limits.clock())
        except OverQuota:
            continue
        admitted += 1
    return admitted


def test_a_burst_of_two_seconds_is_admitted_and_then_the_rate() -> None:
    clock = ManualClock()
    limits, acme = TenantLimitsCache(clock=clock), tenant()
    assert count_admitted(limits, acme, 50) == 20
    clock.now += 0.5
    assert count_admitted(limits, acme, 50) == 5


def test_a_tenant_with_a_common_prefix_and_the_same_tier_has_its_own_limits() -> None:
    clock = ManualClock()
    limits = TenantLimitsCache(clock=clock)
    assert count_admitted(limits, tenant("acme"), 50) == 20
    assert count_admitted(limits, tenant("acmecorp"), 50) == 20
    assert count_admitted(limits, tenant("acme"), 50) == 0


def test_each_server_grants_its_share_and_at_least_one_request() -> None:
    clock, acme = ManualClock(), tenant()
    caches = [TenantLimitsCache(servers=4, clock=clock) for _ in range(4)]
    assert sum(count_admitted(cache, acme, 50) for cache in caches) == 20
    clock.now += 1
    assert sum(count_admitted(cache, acme, 50) for cache in caches) in range(8, 11)
    assert count_admitted(TenantLimitsCache(servers=1_000, clock=clock), acme, 50) == 1


def test_a_refusal_names_the_quota_and_when_to_retry() -> None:
    clock = ManualClock()
    limits, acme = TenantLimitsCache(clock=clock), tenant()
    count_admitted(limits, acme, 20)
    with pytest.raises(OverQuota, match="10 requests a second") as refusal:
        limits.of(acme).admit(clock())
    assert refusal.value.code is Code.THROTTLED
    assert refusal.value.extensions == {"quota": "requestsPerSecond", "retryAfterMs": 100}
    clock.now += 0.1
    limits.of(acme).admit(clock())


def test_a_negative_balance_of_read_units_refuses_all_requests_until_it_is_paid() -> None:
    clock = ManualClock()
    limits, acme = TenantLimitsCache(clock=clock), tenant()
    limits.of(acme).charge(READS, clock())
    with pytest.raises(OverQuota, match="100 read units a second") as refusal:
        limits.of(acme).admit(clock())
    assert refusal.value.extensions == {"quota": "readUnitsPerSecond", "retryAfterMs": 3_000}
    clock.now += 2.9
    assert count_admitted(limits, acme, 1) == 0
    clock.now += 0.2
    assert count_admitted(limits, acme, 1) == 1, "refusals must not take requests from the rate"


def test_a_negative_balance_of_cpu_time_refuses_all_requests_until_it_is_paid() -> None:
    clock = ManualClock()
    limits, acme = TenantLimitsCache(clock=clock), tenant()
    limits.of(acme).cpu_ms.take(80.0 + 120.0, clock())
    with pytest.raises(OverQuota, match="40 ms of CPU time a second") as refusal:
        limits.of(acme).admit(clock())
    assert refusal.value.extensions == {"quota": "cpuMsPerSecond", "retryAfterMs": 3_000}
    clock.now += 3
    assert count_admitted(limits, acme, 1) == 1


def test_new_documents_are_limited_for_each_tenant() -> None:
    clock = ManualClock()
    limits, acme = TenantLimitsCache(clock=clock), tenant()
    for _ in range(int(NEW_DOCUMENTS_BURST)):
        limits.of(acme).take_new_document(clock())
    with pytest.raises(OverQuota, match="20 new documents a second") as refusal:
        limits.of(acme).take_new_document(clock())
    assert refusal.value.extensions == {"quota": "newDocumentsPerSecond", "retryAfterMs": 50}
    limits.of(tenant("acmecorp")).take_new_document(clock())
    clock.now += 0.0625
    limits.of(acme).take_new_document(clock())


def test_a_new_document_is_refused_while_the_balance_of_cpu_time_is_negative() -> None:
    clock = ManualClock()
    limits, acme = TenantLimitsCache(clock=clock), tenant()
    limits.of(acme).cpu_ms.take(200.0, clock())
    with pytest.raises(OverQuota, match="40 ms of CPU time a second"):
        limits.of(acme).take_new_document(clock())


def test_a_negative_balance_of_write_units_refuses_writes_only() -> None:
    clock = ManualClock()
    limits, acme = TenantLimitsCache(clock=clock), tenant()
    limits.of(acme).charge(WRITES, clock())
    assert count_admitted(limits, acme, 1) == 1
    with pytest.raises(OverQuota, match="50 write units a second") as refusal:
        limits.of(acme).require_write_units(clock())
    assert refusal.value.extensions == {"quota": "writeUnitsPerSecond", "retryAfterMs": 3_000}
    clock.now += 3
    limits.of(acme).require_write_units(clock())


def test_changed_quotas_hold_from_the_next_request_and_the_balance_stays() -> None:
    clock = ManualClock()
    limits = TenantLimitsCache(clock=clock)
    assert count_admitted(limits, tenant(), 50) == 20
    limits.of(tenant()).charge(READS, clock())
    assert count_admitted(limits, tenant(requests_per_second=1_000, read_units_per_second=1_000), 50) == 0
    clock.now += 0.5
    assert count_admitted(limits, tenant(requests_per_second=1_000, read_units_per_second=1_000), 600) == 500


def test_a_tenant_that_was_read_again_unchanged_keeps_its_balance() -> None:
    clock, acme = ManualClock(), tenant()
    limits = TenantLimitsCache(clock=clock)
    assert count_admitted(limits, acme, 15) == 15
    assert count_admitted(limits, replace(acme, version=2), 50) == 5


def test_unused_limits_are_evicted_first() -> None:
    clock = ManualClock()
    limits = TenantLimitsCache(clock=clock, max_tenants=3)
    for name in ("debtor", "idle", "busy"):
        count_admitted(limits, tenant(name), 20)
        if name == "debtor":
            limits.of(tenant(name)).charge(ConsumedCapacity("Query", 100_000.0), clock())
    clock.now += 10
    count_admitted(limits, tenant("busy"), 50)
    count_admitted(limits, tenant("newcomer"), 1)
    assert len(limits) == 3
    assert count_admitted(limits, tenant("debtor"), 1) == 0
    assert count_admitted(limits, tenant("busy"), 50) == 0


def test_the_least_recently_used_limits_are_evicted_if_all_are_in_use() -> None:
    limits = TenantLimitsCache(clock=ManualClock(), max_tenants=2)
    for name in ("first", "second", "first", "third"):
        count_admitted(limits, tenant(name), 12)
    assert count_admitted(limits, tenant("first"), 50) == 0
    assert count_admitted(limits, tenant("second"), 50) == 20


async def test_limits_with_a_running_request_are_not_evicted_before_unused_ones() -> None:
    limits = TenantLimitsCache(clock=ManualClock(), max_tenants=2)
    working = limits.of(tenant("working"))
    async with working.running_requests:
        limits.of(tenant("idle"))
        limits.of(tenant("newcomer"))
        assert limits.of(tenant("working")).running_requests is working.running_requests


def test_the_cache_never_has_more_than_max_tenants() -> None:
    clock = ManualClock()
    limits = TenantLimitsCache(clock=clock, max_tenants=10)
    for number in range(50):
        count_admitted(limits, tenant(f"tenant-{number}"), 20)
    assert len(limits) == 10


async def test_a_request_is_refused_if_too_many_requests_wait() -> None:
    limits, may_end = TenantLimitsCache(clock=ManualClock(), max_calls=1).of(tenant()), asyncio.Event()

    async def run() -> None:
        async with limits.running_requests:
            await may_end.wait()

    waiting = [asyncio.ensure_future(run()) for _ in range(MAX_WAITING)]
    await asyncio.sleep(0)
    limits.require_waiting_room()
    waiting.append(asyncio.ensure_future(run()))
    await asyncio.sleep(0)
    with pytest.raises(OverQuota) as refusal:
        limits.require_waiting_room()
    assert refusal.value.extensions["quota"] == "requestsAtOnce"
    may_end.set()
    await asyncio.gather(*waiting)
    limits.require_waiting_room()


@pytest.mark.parametrize(("per_second", "expected"), [(1, 1), (20, 1), (21, 2), (70, 4), (10_000, 8)])
async def test_no_more_requests_run_concurrently_than_the_quota_needs(per_second: int, expected: int) -> None:
    limits = TenantLimitsCache(clock=ManualClock(), max_calls=16)
    running_requests = limits.of(tenant(requests_per_second=10)).running_requests
    assert limits.of(tenant(requests_per_second=per_second)).running_requests is running_requests
    may_end, running_count = asyncio.Event(), 0

    async def run() -> None:
        nonlocal running_count
        async with running_requests:
            running_count += 1
            await may_end.wait()

    requests = [asyncio.ensure_future(run()) for _ in range(20)]
    await asyncio.sleep(0)
    assert running_count == expected
    may_end.set()
    await asyncio.gather(*requests)
