"""A cached tenant is no older than `max_age_seconds`, and concurrent requests share one read."""

import asyncio
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from keyfence.errors import Forbidden, Throttled, Unauthenticated
from keyfence.tenancy import tenant_cache
from keyfence.tenancy.tenant import Tenant
from keyfence.tenancy.tenant_cache import TenantCache
from keyfence.tenancy.tenant_status import TenantStatus
from keyfence.tenancy.tier_quotas import Tier
from keyfence_iam.tenant import TenantId

ACME = TenantId("acme")
NOW = datetime(2026, 11, 16, tzinfo=UTC)


def tenant(id: TenantId = ACME, **changes: Any) -> Tenant:
    active = Tenant(id=id, name="A Shop", tier=Tier.FREE, status=TenantStatus.ACTIVE, created_at=NOW, updated_at=NOW)
    return replace(active, **changes)


@dataclass(slots=True)
class FakeTenantTable:
    """A table of tenants. Reads fail while `is_down` is true, and wait until `may_answer` is set, if there is one."""

    stored: dict[TenantId, Tenant] = field(default_factory=dict)
    reads: int = 0
    now: float = 0.0
    is_down: bool = False
    may_answer: asyncio.Event | None = None

    async def find(self, _: object, *, id: TenantId) -> Tenant | None:
        self.reads += 1
        tenant = self.stored.get(id)
        if self.may_answer:
            await self.may_answer.wait()
        if self.is_down:
            raise Throttled("busy")
        return tenant

    def tenant_cache(self, **options: Any) -> TenantCache:
        return TenantCache(cast("Any", self), clock=lambda: self.now, **options)


async def test_a_tenant_is_read_once_until_it_is_too_old() -> None:
    table = FakeTenantTable({ACME: tenant()})
    tenants = table.tenant_cache(max_age_seconds=5.0)
    for time in (0.0, 1.0, 4.9):
        table.now = time
        await tenants.get_active(ACME)
    assert table.reads == 1
    table.now = 5.0
    await tenants.get_active(ACME)
    assert table.reads == 2


async def test_concurrent_requests_wait_for_the_same_read() -> None:
    table = FakeTenantTable({ACME: tenant()}, may_answer=asyncio.Event())
    tenants = table.tenant_cache()
    waiting = [asyncio.ensure_future(tenants.get_active(ACME)) for _ in range(20)]
    await asyncio.sleep(0)
    assert table.may_answer
    table.may_answer.set()
    assert len(await asyncio.gather(*waiting)) == 20
    assert table.reads == 1


async def test_a_cancelled_request_does_not_cancel_the_read() -> None:
    table = FakeTenantTable({ACME: tenant()}, may_answer=asyncio.Event())
    tenants = table.tenant_cache()
    first, second = (asyncio.ensure_future(tenants.get_active(ACME)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    assert table.may_answer
    table.may_answer.set()
    assert (await second).id == ACME


async def test_a_change_during_a_read_is_not_overwritten_by_the_older_result_of_the_read() -> None:
    table = FakeTenantTable({ACME: tenant()}, may_answer=asyncio.Event())
    tenants = table.tenant_cache()
    reading = asyncio.ensure_future(tenants.get_active(ACME))
    await asyncio.sleep(0)
    tenants.invalidate(tenant(status=TenantStatus.SUSPENDED, version=2))
    assert table.may_answer
    table.may_answer.set()
    with pytest.raises(Forbidden):
        await reading
    with pytest.raises(Forbidden):
        await tenants.get_active(ACME)


async def test_a_tenant_is_read_again_after_an_invalidation() -> None:
    table = FakeTenantTable({ACME: tenant(version=3)})
    tenants = table.tenant_cache(max_age_seconds=5.0)
    await tenants.get_active(ACME)
    table.now, table.stored[ACME] = 4.0, tenant(version=4)
    tenants.invalidate(tenant(version=2))
    assert (await tenants.get_active(ACME)).version == 4


async def test_a_tenant_that_is_too_old_is_not_used_if_it_cannot_be_read_again() -> None:
    table = FakeTenantTable({ACME: tenant()})
    tenants = table.tenant_cache(max_age_seconds=5.0)
    await tenants.get_active(ACME)
    table.now, table.is_down = 5.0, True
    with pytest.raises(Throttled):
        await tenants.get_active(ACME)
    table.is_down = False
    assert (await tenants.get_active(ACME)).id == ACME


async def test_a_provisioning_tenant_is_not_cached() -> None:
    table = FakeTenantTable({ACME: tenant(status=TenantStatus.PROVISIONING)})
    tenants = table.tenant_cache()
    with pytest.raises(Forbidden):
        await tenants.get_active(ACME)
    table.stored[ACME] = tenant(version=2)
    assert (await tenants.get_active(ACME)).version == 2


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (TenantStatus.PROVISIONING, Forbidden),
        (TenantStatus.SUSPENDED, Forbidden),
        (TenantStatus.OFFBOARDING, Forbidden),
        (TenantStatus.OFFBOARDED, Unauthenticated),
    ],
)
async def test_a_tenant_that_is_not_active_is_refused_and_reported_as_inactive(
    status: TenantStatus, error: type[Exception]
) -> None:
    inactive: list[TenantId] = []
    tenants = FakeTenantTable({ACME: tenant(status=status)}).tenant_cache(on_inactive=inactive.append)
    with pytest.raises(error):
        await tenants.get_active(ACME)
    assert inactive == [ACME]


async def test_a_tenant_that_does_not_exist_is_read_for_every_request_and_never_cached() -> None:
    table = FakeTenantTable()
    tenants = table.tenant_cache()
    for _ in range(3):
        with pytest.raises(Unauthenticated):
            await tenants.get_active(ACME)
    assert (table.reads, tenants._cached, tenants._running_reads) == (3, {}, {})


async def test_the_cache_has_at_most_max_tenants_and_drops_the_oldest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tenant_cache, "MAX_TENANTS", 10)
    names = [TenantId(f"t{number}") for number in range(50)]
    tenants = FakeTenantTable({name: tenant(name) for name in names}).tenant_cache()
    for name in names:
        await tenants.get_active(name)
    assert list(tenants._cached) == names[-10:]
