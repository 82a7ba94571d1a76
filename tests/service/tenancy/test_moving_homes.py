"""Where a tenant's items are read and written, by its placement and by how far its move has come."""

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


def tenant(placement: Placement = POOL, phase: MovePhase | None = None, **given: Any) -> Tenant:
    move = phase and TableMove(target=placement.other, phase=phase, job_id="job_1")
    kept: Any = {"name": "A", "tier": Tier.FREE, "status": TenantStatus.ACTIVE, "created_at": NOW, "updated_at": NOW}
    return Tenant(id=TenantId("acme"), placement=placement, move=move or None, **kept, **given)


@pytest.mark.parametrize(
    ("known", "reads", "also", "shadow", "session"),
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
def test_a_home_says_which_table_is_read_and_which_is_written_too(
    known: Tenant, reads: TableAccess, also: TableAccess | None, shadow: bool, session: TableAccess
) -> None:
    home = location_of(known, valid_until=7.0)
    assert (home.read_from, home.also_write_to, home.compare_reads, home.table_access, home.valid_until) == (
        reads,
        also,
        shadow,
        session,
        7.0,
    )


def test_a_move_is_kept_with_its_tenant() -> None:
    moving = tenant(POOL, MovePhase.SHADOW)
    assert decode_model(Tenant, encode_model(moving)) == moving
    assert "move" not in encode_model(tenant())


@dataclass(slots=True)
class Source:
    """A registry that is told what it knows."""

    known: Tenant
    max_age_seconds: float = 0.0
    reads: int = 0
    turn: asyncio.Event = field(default_factory=asyncio.Event)

    async def get_active(self, _: TenantId) -> Tenant:
        self.reads += 1
        self.turn.set()
        return self.known

    def location(self, tenant: Tenant) -> TenantLocation:
        return location_of(tenant, valid_until=float(self.reads))

    async def know(self, known: Tenant) -> None:
        """And be asked for it, twice to be sure that the first answer was taken."""
        self.known = known
        for _ in range(2):
            self.turn.clear()
            await self.turn.wait()


async def test_a_home_that_is_kept_fresh_follows_what_needs_no_other_tables() -> None:
    source = Source(tenant(POOL, MovePhase.DUAL))
    async with refreshed_location(source, TenantId("acme")) as home:
        await source.know(tenant(POOL, MovePhase.SHADOW))
        assert home.compare_reads
        assert 1.0 < home.valid_until < inf


async def test_a_home_runs_out_for_good_when_other_tables_are_to_be_used() -> None:
    source = Source(tenant())
    async with refreshed_location(source, TenantId("acme")) as home:
        for known in (tenant(POOL, MovePhase.DUAL), tenant()):
            await source.know(known)
            assert home.valid_until == -inf
            assert "run the command again" in home.expired_message
