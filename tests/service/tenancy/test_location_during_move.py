"""Which tables are read and written, for each placement and each phase of a move."""

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import inf
from typing import Any

import pytest

from keyfence.store.codec import decode_model, encode_model
from keyfence.store.tenant_location import TenantLocation
from keyfence.tenancy.placement import MovePhase, Placement, TableMove
from keyfence.tenancy.tenant import Tenant
from keyfence.tenancy.tenant_cache import location_of, refreshed_location
from keyfence.tenancy.tenant_status import TenantStatus
from keyfence.tenancy.tier_quotas import Tier
from keyfence_iam.sts.session_spec import TableAccess
from keyfence_iam.tenant import TenantId

NOW = datetime(2026, 11, 16, tzinfo=UTC)
POOL, SILO = Placement.POOL, Placement.SILO


def tenant(placement: Placement = POOL, phase: MovePhase | None = None, **attributes: Any) -> Tenant:
    move = phase and TableMove(target=placement.other, phase=phase, job_id="job_1")
    required: Any = {
        "name": "A",
        "tier": Tier.FREE,
        "status": TenantStatus.ACTIVE,
        "created_at": NOW,
        "updated_at": NOW,
    }
    return Tenant(id=TenantId("acme"), placement=placement, move=move or None, **required, **attributes)


@pytest.mark.parametrize(
    ("tenant_in_phase", "read_from", "also_write_to", "compare_reads", "table_access"),
    [
        (tenant(), TableAccess.POOL, None, False, TableAccess.POOL),
        (tenant(POOL, MovePhase.PLAN), TableAccess.POOL, None, False, TableAccess.POOL),
        (tenant(POOL, MovePhase.DUAL), TableAccess.POOL, TableAccess.SILO, False, TableAccess.BOTH),
        (tenant(POOL, MovePhase.BACKFILL), TableAccess.POOL, TableAccess.SILO, False, TableAccess.BOTH),
        (tenant(POOL, MovePhase.SHADOW), TableAccess.POOL, TableAccess.SILO, True, TableAccess.BOTH),
        (tenant(POOL, MovePhase.SWITCHED), TableAccess.SILO, TableAccess.POOL, False, TableAccess.BOTH),
        (tenant(POOL, MovePhase.CLEARING), TableAccess.SILO, None, False, TableAccess.SILO),
        (tenant(SILO), TableAccess.SILO, None, False, TableAccess.SILO),
        (tenant(SILO, MovePhase.DUAL), TableAccess.SILO, TableAccess.POOL, False, TableAccess.BOTH),
        (tenant(SILO, MovePhase.BACKFILL), TableAccess.SILO, TableAccess.POOL, False, TableAccess.BOTH),
        (tenant(SILO, MovePhase.SHADOW), TableAccess.SILO, TableAccess.POOL, True, TableAccess.BOTH),
        (tenant(SILO, MovePhase.SWITCHED), TableAccess.POOL, TableAccess.SILO, False, TableAccess.BOTH),
    ],
    ids=lambda value: f"{value.placement}-{value.move and value.move.phase}" if isinstance(value, Tenant) else "",
)
def test_a_location_has_the_table_to_read_and_the_second_table_to_write(
    tenant_in_phase: Tenant,
    read_from: TableAccess,
    also_write_to: TableAccess | None,
    compare_reads: bool,
    table_access: TableAccess,
) -> None:
    location = location_of(tenant_in_phase, valid_until=7.0)
    assert (
        location.read_from,
        location.also_write_to,
        location.compare_reads,
        location.table_access,
        location.valid_until,
    ) == (
        read_from,
        also_write_to,
        compare_reads,
        table_access,
        7.0,
    )


def test_a_move_is_stored_with_its_tenant() -> None:
    moving = tenant(POOL, MovePhase.SHADOW)
    assert decode_model(Tenant, encode_model(moving)) == moving
    assert "move" not in encode_model(tenant())


@dataclass(slots=True)
class FakeTenantSource:
    """Returns the tenant that the test has set."""

    tenant: Tenant
    max_age_seconds: float = 0.0
    reads: int = 0
    was_read: asyncio.Event = field(default_factory=asyncio.Event)

    async def get_active(self, _: TenantId) -> Tenant:
        self.reads += 1
        self.was_read.set()
        return self.tenant

    def location(self, tenant: Tenant) -> TenantLocation:
        return location_of(tenant, valid_until=float(self.reads))

    async def set_tenant(self, tenant: Tenant) -> None:
        """Sets the tenant, and waits for two reads: after the second, the result of the first has been used."""
        self.tenant = tenant
        for _ in range(2):
            self.was_read.clear()
            await self.was_read.wait()


async def test_a_refreshed_location_follows_a_phase_with_the_same_tables() -> None:
    source = FakeTenantSource(tenant(POOL, MovePhase.DUAL))
    async with refreshed_location(source, TenantId("acme")) as location:
        await source.set_tenant(tenant(POOL, MovePhase.SHADOW))
        assert location.compare_reads
        assert 1.0 < location.valid_until < inf


async def test_a_refreshed_location_expires_for_good_when_the_tables_change() -> None:
    source = FakeTenantSource(tenant())
    async with refreshed_location(source, TenantId("acme")) as location:
        for changed in (tenant(POOL, MovePhase.DUAL), tenant()):
            await source.set_tenant(changed)
            assert location.valid_until == -inf
            assert "run the command again" in location.expired_message
