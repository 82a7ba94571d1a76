"""Quotas are each tenant's own, divided among the servers, and hold through changes and through forgetting."""

import asyncio
from dataclasses import replace

import pytest

from keyfence.admission.tenant_limits import MAX_WAITING, OverQuota, TenantLimitsCache
from keyfence.errors import Code
from keyfence.store.dynamodb.capacity import ConsumedCapacity
from keyfence.tenancy.tenant import Tenant
from tests.fakes.clock import ManualClock
from tests.unit.admission.tenant_quotas import tenant

READS = ConsumedCapacity("Query", 500.0, 0.0)
WRITES = ConsumedCapacity("PutItem", 0.0, 250.0)


def admitted(limits: TenantLimitsCache, who: Tenant, times: int) -> int:
    """How many of so many requests are let in at this moment."""
    passed = 0
    for _ in range(times):
        try:
            limits.of(who).admit(limits.clock())
        except OverQuota:
            continue
        passed += 1
    return passed


def test_two_seconds_worth_of_requests_pass_at_once_and_then_the_rate() -> None:
    clock = ManualClock()
    limits, acme = TenantLimitsCache(clock=clock), tenant()
    assert admitted(limits, acme, 50) == 20
    clock.now += 0.5
    assert admitted(limits, acme, 50) == 5


def test_a_neighbour_with_a_common_prefix_and_the_same_tier_has_its_own() -> None:
    clock = ManualClock()
    limits = TenantLimitsCache(clock=clock)
    assert admitted(limits, tenant("acme"), 50) == 20
    assert admitted(limits, tenant("acmecorp"), 50) == 20
    assert admitted(limits, tenant("acme"), 50) == 0


def test_each_of_many_servers_gives_out_its_part_and_at_least_one_request() -> None:
    clock, acme = ManualClock(), tenant()
    fleet = [TenantLimitsCache(servers=4, clock=clock) for _ in range(4)]
    assert sum(admitted(one, acme, 50) for one in fleet) == 20
    clock.now += 1
    assert sum(admitted(one, acme, 50) for one in fleet) in range(8, 11)
    assert admitted(TenantLimitsCache(servers=1_000, clock=clock), acme, 50) == 1


def test_the_refusal_names_the_quota_and_when_to_come_again() -> None:
    clock = ManualClock()
    limits, acme = TenantLimitsCache(clock=clock), tenant()
    admitted(limits, acme, 20)
    with pytest.raises(OverQuota, match="10 requests a second") as refusal:
        limits.of(acme).admit(clock())
    assert refusal.value.code is Code.THROTTLED
    assert refusal.value.extensions == {"quota": "requestsPerSecond", "retryAfterMs": 100}
    clock.now += 0.1
    limits.of(acme).admit(clock())


def test_who_owes_read_units_waits_with_everything_until_it_is_even() -> None:
    clock = ManualClock()
    limits, acme = TenantLimitsCache(clock=clock), tenant()
    limits.of(acme).charge(READS, clock())
    with pytest.raises(OverQuota, match="100 read units a second") as refusal:
        limits.of(acme).admit(clock())
    assert refusal.value.extensions == {"quota": "readUnitsPerSecond", "retryAfterMs": 3_000}
    clock.now += 2.9
    assert admitted(limits, acme, 1) == 0
    clock.now += 0.2
    assert admitted(limits, acme, 1) == 1, "refusals took no request away"


def test_who_owes_write_units_may_still_read() -> None:
    clock = ManualClock()
    limits, acme = TenantLimitsCache(clock=clock), tenant()
    limits.of(acme).charge(WRITES, clock())
    assert admitted(limits, acme, 1) == 1
    with pytest.raises(OverQuota, match="50 write units a second") as refusal:
        limits.of(acme).admit_write(clock())
    assert refusal.value.extensions == {"quota": "writeUnitsPerSecond", "retryAfterMs": 3_000}
    clock.now += 3
    limits.of(acme).admit_write(clock())


def test_other_quotas_hold_from_the_next_request_on_and_forgive_nothing() -> None:
    clock = ManualClock()
    limits = TenantLimitsCache(clock=clock)
    assert admitted(limits, tenant(), 50) == 20
    limits.of(tenant()).charge(READS, clock())
    assert admitted(limits, tenant(requests_per_second=1_000, read_units_per_second=1_000), 50) == 0
    clock.now += 0.5
    assert admitted(limits, tenant(requests_per_second=1_000, read_units_per_second=1_000), 600) == 500


def test_a_tenant_that_was_read_again_unchanged_keeps_its_balance() -> None:
    clock, acme = ManualClock(), tenant()
    limits = TenantLimitsCache(clock=clock)
    assert admitted(limits, acme, 15) == 15
    assert admitted(limits, replace(acme, version=2), 50) == 5


def test_of_too_many_the_one_goes_whose_allowance_is_whole() -> None:
    clock = ManualClock()
    limits = TenantLimitsCache(clock=clock, max_tenants=3)
    for name in ("debtor", "idle", "busy"):
        admitted(limits, tenant(name), 20)
        if name == "debtor":
            limits.of(tenant(name)).charge(ConsumedCapacity("Query", 100_000.0), clock())
    clock.now += 10
    admitted(limits, tenant("busy"), 50)
    admitted(limits, tenant("newcomer"), 1)
    assert len(limits) == 3
    assert admitted(limits, tenant("debtor"), 1) == 0
    assert admitted(limits, tenant("busy"), 50) == 0


def test_where_nobodys_is_whole_the_one_goes_that_was_served_longest_ago() -> None:
    limits = TenantLimitsCache(clock=ManualClock(), max_tenants=2)
    for name in ("first", "second", "first", "third"):
        admitted(limits, tenant(name), 12)
    assert admitted(limits, tenant("first"), 50) == 0
    assert admitted(limits, tenant("second"), 50) == 20


async def test_a_tenant_with_a_request_under_way_is_not_forgotten_for_an_idle_one() -> None:
    limits = TenantLimitsCache(clock=ManualClock(), max_tenants=2)
    working = limits.of(tenant("working"))
    async with working.running:
        limits.of(tenant("idle"))
        limits.of(tenant("newcomer"))
        assert limits.of(tenant("working")).running is working.running


def test_there_are_never_more_than_the_largest_number() -> None:
    clock = ManualClock()
    limits = TenantLimitsCache(clock=clock, max_tenants=10)
    for number in range(50):
        admitted(limits, tenant(f"tenant-{number}"), 20)
    assert len(limits) == 10


async def test_more_than_the_queue_holds_are_turned_away() -> None:
    allowance, entered = TenantLimitsCache(clock=ManualClock(), max_calls=1).of(tenant()), asyncio.Event()

    async def run() -> None:
        async with allowance.running:
            await entered.wait()

    waiting = [asyncio.ensure_future(run()) for _ in range(MAX_WAITING)]
    await asyncio.sleep(0)
    allowance.admit_concurrent()
    waiting.append(asyncio.ensure_future(run()))
    await asyncio.sleep(0)
    with pytest.raises(OverQuota) as refusal:
        allowance.admit_concurrent()
    assert refusal.value.extensions["quota"] == "requestsAtOnce"
    entered.set()
    await asyncio.gather(*waiting)
    allowance.admit_concurrent()


@pytest.mark.parametrize(("per_second", "at_once"), [(1, 1), (20, 1), (21, 2), (70, 4), (10_000, 8)])
async def test_no_more_requests_run_at_once_than_the_quota_needs(per_second: int, at_once: int) -> None:
    limits = TenantLimitsCache(clock=ManualClock(), max_calls=16)
    running = limits.of(tenant(requests_per_second=10)).running
    assert limits.of(tenant(requests_per_second=per_second)).running is running
    leave, inside = asyncio.Event(), 0

    async def run() -> None:
        nonlocal inside
        async with running:
            inside += 1
            await leave.wait()

    crowd = [asyncio.ensure_future(run()) for _ in range(20)]
    await asyncio.sleep(0)
    assert inside == at_once
    leave.set()
    await asyncio.gather(*crowd)
