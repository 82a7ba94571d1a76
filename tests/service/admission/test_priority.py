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
    made = Admission(limits=TenantLimitsCache(clock=clock), ledger=UsageLedger(), total_capacity=CapacityMeter())
    yield made
    assert made.priority._prioritized_requests == 0, "who has gone is not waited for"
    assert not made.priority._waiting_requests


def over_its_quota(admission: Admission, clock: ManualClock) -> AdmittedRequest:
    """Return an admitted request of a tenant that was refused a moment ago."""
    loud = tenant("loud", requests_per_second=1_000)
    for _ in range(2_000):
        admission.admit(loud)
    with pytest.raises(OverQuota):
        admission.admit(loud)
    clock.now += LOW_PRIORITY_SECONDS / 2
    return admission.admit(loud)


async def _run_pending_tasks() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_a_low_priority_request_starts_when_the_other_tenants_request_has_ended(
    admission: Admission, clock: ManualClock
) -> None:
    request, seen = over_its_quota(admission, clock), list[str]()

    async def loud() -> None:
        async with request.run("users", writes=False):
            seen.append("loud")

    async with admission.admit(tenant("quiet")).run("users", writes=False):
        behind = asyncio.ensure_future(loud())
        await _run_pending_tasks()
        seen.append("quiet")
    await asyncio.wait_for(behind, TIMEOUT)
    assert seen == ["quiet", "loud"]


async def test_a_low_priority_request_yields_between_its_calls(admission: Admission, clock: ManualClock) -> None:
    request, seen = over_its_quota(admission, clock), list[str]()
    called, arrived = asyncio.Event(), asyncio.Event()

    async def loud() -> None:
        async with request.run("users", writes=False):
            async with request.call_limit:
                called.set()
                await arrived.wait()
            seen.append("loud")

    running = asyncio.ensure_future(loud())
    await called.wait()
    async with admission.admit(tenant("quiet")).run("users", writes=False):
        arrived.set()
        await _run_pending_tasks()
        seen.append("quiet")
    await asyncio.wait_for(running, TIMEOUT)
    assert seen == ["quiet", "loud"]


async def test_the_time_to_yield_is_limited_for_the_whole_request(admission: Admission, clock: ManualClock) -> None:
    request = over_its_quota(admission, clock)

    async def loud() -> None:
        async with request.run("users", writes=False):
            for _ in range(3):
                async with request.call_limit:
                    assert request.call_limit.yield_seconds == 0.0

    async with admission.admit(tenant("quiet")).run("users", writes=False):
        await asyncio.wait_for(loud(), TIMEOUT)


async def test_a_low_priority_request_does_not_wait_when_it_is_alone(admission: Admission, clock: ManualClock) -> None:
    request = over_its_quota(admission, clock)
    async with request.run("users", writes=False), request.call_limit:
        assert request.call_limit.yield_seconds == pytest.approx(MAX_YIELD_SECONDS, abs=MAX_YIELD_SECONDS / 2)


async def test_low_priority_ends_some_time_after_the_last_refusal(admission: Admission, clock: ManualClock) -> None:
    over_its_quota(admission, clock)
    clock.now += LOW_PRIORITY_SECONDS
    request = admission.admit(tenant("loud", requests_per_second=1_000))
    async with admission.admit(tenant("quiet")).run("users", writes=False), request.run("users", writes=False):
        assert request.call_limit.yield_seconds == 0.0


async def test_a_tenant_within_its_quota_does_not_wait(admission: Admission, clock: ManualClock) -> None:
    async with over_its_quota(admission, clock).run("users", writes=False):
        request = admission.admit(tenant("quiet"))
        async with request.run("users", writes=False), request.call_limit:
            assert request.call_limit.yield_seconds == 0.0


async def test_a_cancelled_request_leaves_nothing_behind(admission: Admission, clock: ManualClock) -> None:
    request = over_its_quota(admission, clock)
    async with admission.admit(tenant("quiet")).run("users", writes=False):
        waiting = asyncio.ensure_future(request.run("users", writes=False).__aenter__())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    assert admission.limits.of(request.tenant).running_requests.is_idle


async def test_a_tenant_does_not_yield_if_it_would_get_less_than_its_quota(
    admission: Admission, clock: ManualClock
) -> None:
    """More requests wait than a burst can have, so the tenant is already served more slowly than its quota allows."""
    request = over_its_quota(admission, clock)
    assert request.limits.has_low_priority(clock.now)
    loud = request.limits
    loud.running_requests.resize(0)
    waiting = [asyncio.ensure_future(loud.running_requests.__aenter__()) for _ in range(int(loud.requests.burst) + 1)]
    await asyncio.sleep(0)
    assert not loud.has_low_priority(clock.now)
    for one in waiting:
        one.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    loud.running_requests.resize(1)
