"""An admitted request is counted, limited and charged to its tenant until it ends."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field

import pytest
from structlog.testing import capture_logs

from keyfence.admission.admission import Admission, AdmittedRequest
from keyfence.admission.rate_limits import (
    FREE_CPU_MS,
    MAX_CPU_STEP_MS,
    MAX_WAITING,
    OverQuota,
    TenantLimitsCache,
)
from keyfence.log import LOG_INTERVAL_SECONDS
from keyfence.store.dynamodb.capacity import CapacityMeter, ConsumedCapacity
from keyfence.tenancy.tenant import Tenant
from keyfence.usage.ledger import UsageLedger
from tests.fakes.clock import ManualClock
from tests.service.admission.tenant_quotas import tenant


@dataclass
class AdmissionFixture:
    clock: ManualClock = field(default_factory=ManualClock)
    max_calls: int = 16
    admission: Admission = field(init=False)

    def __post_init__(self) -> None:
        limits = TenantLimitsCache(clock=self.clock, max_calls=self.max_calls)
        self.admission = Admission(limits=limits, ledger=UsageLedger(), total_capacity=CapacityMeter())

    def counts(self, tenant: Tenant) -> dict[str, tuple[int, int, float]]:
        """Returns requests, refusals and capacity units by operation."""
        (entry,) = [entry for entry in self.admission.ledger.unwritten_entries() if entry.tenant == tenant.id]
        return {
            name: (counter.requests, counter.refused, counter.read_units + counter.write_units)
            for name, counter in entry.counters.items()
        }


async def test_consumed_units_are_charged_to_the_request_its_operation_its_tenant_and_the_total() -> None:
    fixture, acme = AdmissionFixture(), tenant(requests_per_second=1_000)
    request, other = fixture.admission.admit(acme), fixture.admission.admit(acme)
    async with request.run("users", may_write=False), other.run("createUser", may_write=True):
        request.add(ConsumedCapacity("Query", 150.0))
        other.add(ConsumedCapacity("TransactWriteItems", 0.0, 20.0))
    request.add(ConsumedCapacity("Query", 1.0))
    assert (request.read_units, request.calls, other.write_units) == (151.0, {"Query": 2}, 20.0)
    assert fixture.counts(acme) == {"users": (1, 0, 151.0), "createUser": (1, 0, 20.0)}
    assert (fixture.admission.total_capacity.read_units, fixture.admission.total_capacity.write_units) == (151.0, 20.0)
    limits = fixture.admission.limits.of(acme)
    assert (limits.read_units.balance, limits.write_units.balance) == (200.0 - 151.0, 100.0 - 20.0)


async def test_refunded_units_are_taken_back_from_quota_and_usage_and_not_from_the_total() -> None:
    fixture, acme = AdmissionFixture(), tenant()
    request = fixture.admission.admit(acme)
    async with request.run("users", may_write=False):
        request.add(ConsumedCapacity("Query", 4.5))
        request.refund(4.0)
    assert fixture.counts(acme) == {"users": (1, 0, 0.5)}
    assert fixture.admission.limits.of(acme).read_units.balance == 200.0 - 0.5
    assert (request.calls, request.read_units) == ({"Query": 1}, 4.5)
    assert fixture.admission.total_capacity.read_units == 4.5


async def test_a_mutation_is_refused_for_write_units_and_a_query_is_not() -> None:
    fixture, acme = AdmissionFixture(), tenant()
    fixture.admission.admit(acme).add(ConsumedCapacity("PutItem", 0.0, 101.0))
    async with fixture.admission.admit(acme).run("users", may_write=False):
        pass
    with pytest.raises(OverQuota):
        async with fixture.admission.admit(acme).run("createUser", may_write=True):
            raise AssertionError("the request was admitted")
    assert fixture.counts(acme)["createUser"] == (0, 1, 0.0)
    assert fixture.admission.refusals == {"writeUnitsPerSecond": 1}


async def test_concurrent_requests_of_a_tenant_are_limited_and_other_tenants_do_not_wait() -> None:
    fixture, running, max_running = AdmissionFixture(max_calls=4), 0, 0
    acme, neighbour = tenant(requests_per_second=10_000), tenant("acmecorp")

    async def run() -> None:
        nonlocal running, max_running
        async with fixture.admission.admit(acme).run("users", may_write=False):
            running += 1
            max_running = max(max_running, running)
            await asyncio.sleep(0)
            running -= 1

    requests = asyncio.gather(*(run() for _ in range(50)))
    await asyncio.sleep(0)
    async with fixture.admission.admit(neighbour).run("users", may_write=False):
        assert running == 2
    await requests
    assert max_running == 2
    assert fixture.counts(acme) == {"users": (50, 0, 0.0)}


async def test_a_tenant_with_too_many_waiting_requests_is_refused() -> None:
    fixture, acme, may_end = AdmissionFixture(max_calls=1), tenant(requests_per_second=10_000), asyncio.Event()

    async def run() -> None:
        async with fixture.admission.admit(acme).run("users", may_write=False):
            await may_end.wait()

    requests = [asyncio.ensure_future(run()) for _ in range(MAX_WAITING + 1)]
    await asyncio.sleep(0)
    with pytest.raises(OverQuota, match="at once"):
        await asyncio.wait_for(run(), 5)
    may_end.set()
    await asyncio.gather(*requests)


async def test_calls_of_a_tenant_share_a_concurrency_limit_with_no_other_tenant() -> None:
    fixture = AdmissionFixture()
    first, second = (fixture.admission.admit(tenant()) for _ in range(2))
    assert first.call_limit.tenant_limit is second.call_limit.tenant_limit
    assert first.call_limit.tenant_limit is not fixture.admission.admit(tenant("acmecorp")).call_limit.tenant_limit


def test_refusals_of_a_tenant_are_logged_once_in_an_interval() -> None:
    fixture, acme = AdmissionFixture(), tenant(requests_per_second=1)
    with capture_logs() as lines:
        for _ in range(2):
            for _ in range(20):
                try:
                    fixture.admission.admit(acme)
                except OverQuota:
                    continue
            fixture.clock.now += LOG_INTERVAL_SECONDS
    assert [(line["event"], line["tenant"], line["quota"]) for line in lines] == [
        ("tenant_over_quota", "acme", "requestsPerSecond")
    ] * 2


def test_the_first_millisecond_of_cpu_time_of_each_request_is_free() -> None:
    fixture, acme = AdmissionFixture(), tenant(requests_per_second=10_000)
    cpu_ms = fixture.admission.limits.of(acme).cpu_ms
    for _ in range(100):
        fixture.admission.admit(acme).charge_cpu(0.001)
    assert cpu_ms.balance == 80.0
    request = fixture.admission.admit(acme)
    for _ in range(4):
        request.charge_cpu(0.0005)
    assert cpu_ms.balance == pytest.approx(79.0)


def test_a_garbage_collection_during_a_step_is_not_charged_in_full() -> None:
    fixture, acme = AdmissionFixture(), tenant()
    fixture.admission.admit(acme).charge_cpu(0.4)
    assert fixture.admission.limits.of(acme).cpu_ms.balance == 80.0 - (MAX_CPU_STEP_MS - FREE_CPU_MS)


async def test_one_new_document_of_a_tenant_is_read_at_a_time_and_charged_before_the_next() -> None:
    fixture, acme, read_count = AdmissionFixture(), tenant(requests_per_second=10_000), 0
    requests = [fixture.admission.admit(acme) for _ in range(50)]

    async def read(request: AdmittedRequest) -> None:
        nonlocal read_count
        async with request.admit_new_document():
            await request.yield_to_others()
            read_count += 1
            for _ in range(2):
                request.charge_cpu(0.0155)

    results = await asyncio.gather(*map(read, requests), return_exceptions=True)
    assert read_count == 3, "80 ms are enough for 30 ms, 30 ms and the document that makes the balance negative"
    assert Counter(map(type, results)) == {type(None): 3, OverQuota: 47}
    assert fixture.counts(acme)["unknown"] == (0, 47, 0.0)


async def test_reading_a_new_document_waits_for_requests_of_other_tenants() -> None:
    fixture, events = AdmissionFixture(), list[str]()
    neighbour = fixture.admission.admit(tenant("acmecorp"))

    async def read(request: AdmittedRequest) -> None:
        async with request.admit_new_document():
            events.append("a step of the new document")

    async with neighbour.run("users", may_write=False):
        reading = asyncio.create_task(read(fixture.admission.admit(tenant())))
        for _ in range(10):
            await asyncio.sleep(0)
        events.append("the end of the neighbour's request")
    await reading
    assert events == ["the end of the neighbour's request", "a step of the new document"]
