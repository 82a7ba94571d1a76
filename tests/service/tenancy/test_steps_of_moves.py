"""A move is taken from one step to the next, by its own migration, and a step that comes late changes nothing."""

from dataclasses import replace
from datetime import UTC, datetime
from itertools import product
from typing import Any

import pytest

from keyfence.jobs.move.move_phases import enter_phase, finish_move, roll_back
from keyfence.tenancy.placement import MovePhase, Placement, TableMove
from keyfence.tenancy.tenant import Tenant
from keyfence.tenancy.tenant_status import TenantStatus
from keyfence.tenancy.tier_quotas import Tier
from keyfence_iam.tenant import TenantId

NOW = datetime(2026, 11, 16, tzinfo=UTC)
PLAN, DUAL, BACKFILL, SHADOW, SWITCHED, CLEARING = MovePhase
ON = {(PLAN, DUAL), (DUAL, BACKFILL), (BACKFILL, SHADOW), (SHADOW, BACKFILL), (SHADOW, SWITCHED), (SWITCHED, CLEARING)}
BACK = {(SWITCHED, BACKFILL)}


def moving(phase: MovePhase, *, back: bool = False) -> Tenant:
    kept: Any = {"name": "A", "tier": Tier.FREE, "status": TenantStatus.ACTIVE, "created_at": NOW, "updated_at": NOW}
    move = TableMove(target=Placement.SILO, phase=phase, job_id="job_1", is_cancelled=back)
    return Tenant(id=TenantId("acme"), placement=Placement.POOL, move=move, **kept)


@pytest.mark.parametrize(("back", "taken"), [(False, ON), (True, BACK)], ids=["on", "back"])
def test_only_the_next_step_is_taken(back: bool, taken: set[tuple[MovePhase, MovePhase]]) -> None:
    for at, to in product(MovePhase, (one for one in MovePhase if one is not PLAN)):
        before = moving(at, back=back)
        after = enter_phase("job_1", to)(before)
        if (at, to) in taken:
            assert after.move
            assert (after.move.phase, after.placement is Placement.SILO) == (to, to is CLEARING)
        else:
            assert after == before
        assert enter_phase("job_2", to)(before) == before


def test_it_arrives_from_its_last_step_alone() -> None:
    for phase in MovePhase:
        before = moving(phase)
        assert finish_move("job_1")(before) == (replace(before, move=None) if phase is CLEARING else before)
        assert finish_move("job_2")(before) == before


def test_only_what_was_called_off_and_is_not_switched_retreats() -> None:
    for phase, back in product(MovePhase, (False, True)):
        before = moving(phase, back=back)
        after = roll_back("job_1")(before)
        if back and phase not in {SWITCHED, CLEARING}:
            assert after.move
            assert (after.move.phase, after.move.target) == (CLEARING, Placement.POOL)
        else:
            assert after == before
