"""Requests of a tenant that exceeds its quota wait for those of other tenants, for a limited time."""

import asyncio
from collections.abc import Iterator

import pytest

from keyfence.admission.admission import Admission, AdmittedRequest
from keyfence.admission.priority import MAX_YIELD_SECONDS
from keyfence.admission.rate_limits import LOW_PRIORITY_SECONDS, OverQuota, TenantLimitsCache
from keyfence.store.dynamodb.capacity import CapacityMeter
from keyfence.usage.ledger import UsageLedger
from tests.fakes.clock import ManualClock
from tests.service.admission.tenant_quotas import tenant

TIMEOUT = 5


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def admission(clock: ManualClock) -> Iterator[Admission]:
    admission = Admission(limits=TenantLimitsCache(clock=clock), ledger=UsageLedger(), total_capacity=CapacityMeter())
    yield admission
    assert admission.priority._prioritized_requests == 0, "a request that has ended still has priority"
    assert not admission.priority._waiting_requests


def admit_over_quota(admission: Admission, clock: ManualClock) -> AdmittedRequest:
    """Returns an admitted request of a tenant, one of whose requests was refused a moment before."""
    busy = tenant("busy", requests_per_second=1_000)
    for _ in range(2_000):
        admission.admit(busy)
    with pytest.raises(OverQuota):
        admission.admit(busy)
    clock.now += LOW_PRIORITY_SECONDS / 2
    return admission.admit(busy)


async def _run_pending_tasks() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_a_low_priority_request_starts_when_the_other_tenants_request_has_ended(
    admission: Admission, clock: ManualClock
) -> None:
    request, order = admit_over_quota(admission, clock), list[str]()

    async def busy() -> None:
        async with request.run("users", may_write=False):
            order.append("busy")

    async with admission.admit(tenant("quiet")).run("users", may_write=False):
        low_priority_request = asyncio.ensure_future(busy())
        await _run_pending_tasks()
        order.append("quiet")
    await asyncio.wait_for(low_priority_request, TIMEOUT)
    assert order == ["quiet", "busy"]


async def test_a_low_priority_request_yields_between_its_calls(admission: Admission, clock: ManualClock) -> None:
    request, order = admit_over_quota(admission, clock), list[str]()
    call_started, call_may_end = asyncio.Event(), asyncio.Event()

    async def busy() -> None:
        async with request.run("users", may_write=False):
            async with request.call_limit:
                call_started.set()
                await call_may_end.wait()
            order.append("busy")

    running = asyncio.ensure_future(busy())
    await call_started.wait()
    async with admission.admit(tenant("quiet")).run("users", may_write=False):
        call_may_end.set()
        await _run_pending_tasks()
        order.append("quiet")
    await asyncio.wait_for(running, TIMEOUT)
    assert order == ["quiet", "busy"]


async def test_the_time_to_yield_is_limited_for_the_whole_request(admission: Admission, clock: ManualClock) -> None:
    request = admit_over_quota(admission, clock)

    async def busy() -> None:
        async with request.run("users", may_write=False):
            for _ in range(3):
                async with request.call_limit:
                    assert request.call_limit.yield_seconds == 0.0

    async with admission.admit(tenant("quiet")).run("users", may_write=False):
        await asyncio.wait_for(busy(), TIMEOUT)


async def test_a_low_priority_request_does_not_wait_when_it_is_alone(admission: Admission, clock: ManualClock) -> None:
    request = admit_over_quota(admission, clock)
    async with request.run("users", may_write=False), request.call_limit:
        assert request.call_limit.yield_seconds == pytest.approx(MAX_YIELD_SECONDS, abs=MAX_YIELD_SECONDS / 2)


async def test_low_priority_ends_some_time_after_the_last_refusal(admission: Admission, clock: ManualClock) -> None:
    admit_over_quota(admission, clock)
    clock.now += LOW_PRIORITY_SECONDS
    request = admission.admit(tenant("busy", requests_per_second=1_000))
    async with admission.admit(tenant("quiet")).run("users", may_write=False), request.run("users", may_write=False):
        assert request.call_limit.yield_seconds == 0.0


async def test_a_tenant_within_its_quota_does_not_wait(admission: Admission, clock: ManualClock) -> None:
    async with admit_over_quota(admission, clock).run("users", may_write=False):
        request = admission.admit(tenant("quiet"))
        async with request.run("users", may_write=False), request.call_limit:
            assert request.call_limit.yield_seconds == 0.0


async def test_a_cancelled_request_leaves_nothing_behind(admission: Admission, clock: ManualClock) -> None:
    request = admit_over_quota(admission, clock)
    async with admission.admit(tenant("quiet")).run("users", may_write=False):
        waiting = asyncio.ensure_future(request.run("users", may_write=False).__aenter__())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    assert admission.limits.of(request.tenant).running_requests.is_idle


async def test_a_tenant_does_not_yield_if_it_would_get_less_than_its_quota(
    admission: Admission, clock: ManualClock
) -> None:
    """More requests wait than a burst can have, so the tenant is already served more slowly than its quota allows."""
    request = admit_over_quota(admission, clock)
    assert request.limits.has_low_priority(clock.now)
    busy = request.limits
    busy.running_requests.resize(0)
    waiting = [asyncio.ensure_future(busy.running_requests.__aenter__()) for _ in range(int(busy.requests.burst) + 1)]
    await asyncio.sleep(0)
    assert not busy.has_low_priority(clock.now)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    busy.running_requests.resize(1)
