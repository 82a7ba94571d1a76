"""What a server believes of a tenant is no older than it says, and asked for once."""

import asyncio
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from keyfence.errors import Forbidden, Throttled, Unauthenticated
from keyfence.tenancy import tenant_cache as module
from keyfence.tenancy.tenant import Tenant
from keyfence.tenancy.tenant_cache import TenantCache
from keyfence.tenancy.tenant_status import TenantStatus
from keyfence.tenancy.tier_quotas import Tier
from keyfence_iam.tenant import TenantId

ACME = TenantId("acme")
NOW = datetime(2026, 11, 16, tzinfo=UTC)


def tenant(id: TenantId = ACME, **changes: Any) -> Tenant:
    made = Tenant(id=id, name="A Shop", tier=Tier.FREE, status=TenantStatus.ACTIVE, created_at=NOW, updated_at=NOW)
    return replace(made, **changes)


@dataclass(slots=True)
class Shelf:
    """A table of tenants whose reads can be held back."""

    kept: dict[TenantId, Tenant] = field(default_factory=dict)
    reads: int = 0
    now: float = 0.0
    broken: bool = False
    gate: asyncio.Event | None = None

    async def find(self, _: object, *, id: TenantId) -> Tenant | None:
        self.reads += 1
        found = self.kept.get(id)
        if self.gate:
            await self.gate.wait()
        if self.broken:
            raise Throttled("busy")
        return found

    def registry(self, **given: Any) -> TenantCache:
        return TenantCache(cast("Any", self), clock=lambda: self.now, **given)


async def test_a_tenant_is_read_once_until_it_is_too_old() -> None:
    shelf = Shelf({ACME: tenant()})
    registry = shelf.registry(max_age_seconds=5.0)
    for moment in (0.0, 1.0, 4.9):
        shelf.now = moment
        await registry.get_active(ACME)
    assert shelf.reads == 1
    shelf.now = 5.0
    await registry.get_active(ACME)
    assert shelf.reads == 2


async def test_all_who_come_while_a_read_is_under_way_wait_for_that_one() -> None:
    shelf = Shelf({ACME: tenant()}, gate=asyncio.Event())
    registry = shelf.registry()
    waiting = [asyncio.ensure_future(registry.get_active(ACME)) for _ in range(20)]
    await asyncio.sleep(0)
    assert shelf.gate
    shelf.gate.set()
    assert len(await asyncio.gather(*waiting)) == 20
    assert shelf.reads == 1


async def test_who_gives_up_waiting_leaves_the_read_to_the_others() -> None:
    shelf = Shelf({ACME: tenant()}, gate=asyncio.Event())
    registry = shelf.registry()
    first, second = (asyncio.ensure_future(registry.get_active(ACME)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    assert shelf.gate
    shelf.gate.set()
    assert (await second).id == ACME


async def test_what_was_learned_while_an_older_read_was_under_way_is_not_forgotten() -> None:
    shelf = Shelf({ACME: tenant()}, gate=asyncio.Event())
    registry = shelf.registry()
    reading = asyncio.ensure_future(registry.get_active(ACME))
    await asyncio.sleep(0)
    registry.invalidate(tenant(status=TenantStatus.SUSPENDED, version=2))
    assert shelf.gate
    shelf.gate.set()
    with pytest.raises(Forbidden):
        await reading
    with pytest.raises(Forbidden):
        await registry.get_active(ACME)


async def test_what_was_learned_is_no_fresher_than_what_is_read_next() -> None:
    shelf = Shelf({ACME: tenant(version=3)})
    registry = shelf.registry(max_age_seconds=5.0)
    await registry.get_active(ACME)
    shelf.now, shelf.kept[ACME] = 4.0, tenant(version=4)
    registry.invalidate(tenant(version=2))
    assert (await registry.get_active(ACME)).version == 4


async def test_what_cannot_be_read_anew_is_not_guessed() -> None:
    shelf = Shelf({ACME: tenant()})
    registry = shelf.registry(max_age_seconds=5.0)
    await registry.get_active(ACME)
    shelf.now, shelf.broken = 5.0, True
    with pytest.raises(Throttled):
        await registry.get_active(ACME)
    shelf.broken = False
    assert (await registry.get_active(ACME)).id == ACME


async def test_a_tenant_that_is_being_set_up_is_served_the_moment_it_is_ready() -> None:
    shelf = Shelf({ACME: tenant(status=TenantStatus.PROVISIONING)})
    registry = shelf.registry()
    with pytest.raises(Forbidden):
        await registry.get_active(ACME)
    shelf.kept[ACME] = tenant(version=2)
    assert (await registry.get_active(ACME)).version == 2


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (TenantStatus.PROVISIONING, Forbidden),
        (TenantStatus.SUSPENDED, Forbidden),
        (TenantStatus.OFFBOARDING, Forbidden),
        (TenantStatus.OFFBOARDED, Unauthenticated),
    ],
)
async def test_only_an_active_tenant_is_served_and_who_is_not_loses_its_sessions(
    status: TenantStatus, error: type[Exception]
) -> None:
    shut: list[TenantId] = []
    registry = Shelf({ACME: tenant(status=status)}).registry(on_inactive=shut.append)
    with pytest.raises(error):
        await registry.get_active(ACME)
    assert shut == [ACME]


async def test_a_tenant_that_is_not_there_is_asked_for_every_time_and_remembered_never() -> None:
    shelf = Shelf()
    registry = shelf.registry()
    for _ in range(3):
        with pytest.raises(Unauthenticated):
            await registry.get_active(ACME)
    assert (shelf.reads, registry._cached, registry._running_reads) == (3, {}, {})


async def test_no_more_tenants_are_remembered_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_TENANTS", 10)
    names = [TenantId(f"t{number}") for number in range(50)]
    registry = Shelf({name: tenant(name) for name in names}).registry()
    for name in names:
        await registry.get_active(name)
    assert list(registry._cached) == names[-10:]
