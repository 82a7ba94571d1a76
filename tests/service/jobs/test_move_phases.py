"""A move goes from phase to phase only by its own job. A phase that comes too late changes nothing."""

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
FORWARD = {
    (PLAN, DUAL),
    (DUAL, BACKFILL),
    (BACKFILL, SHADOW),
    (SHADOW, BACKFILL),
    (SHADOW, SWITCHED),
    (SWITCHED, CLEARING),
}
BACKWARD = {(SWITCHED, BACKFILL)}


def moving(phase: MovePhase, *, is_cancelled: bool = False) -> Tenant:
    required: Any = {
        "name": "A",
        "tier": Tier.FREE,
        "status": TenantStatus.ACTIVE,
        "created_at": NOW,
        "updated_at": NOW,
    }
    move = TableMove(target=Placement.SILO, phase=phase, job_id="job_1", is_cancelled=is_cancelled)
    return Tenant(id=TenantId("acme"), placement=Placement.POOL, move=move, **required)


@pytest.mark.parametrize(
    ("is_cancelled", "transitions"), [(False, FORWARD), (True, BACKWARD)], ids=["forward", "cancelled"]
)
def test_only_an_allowed_next_phase_is_entered(
    is_cancelled: bool, transitions: set[tuple[MovePhase, MovePhase]]
) -> None:
    for phase, next_phase in product(MovePhase, [DUAL, BACKFILL, SHADOW, SWITCHED, CLEARING]):
        before = moving(phase, is_cancelled=is_cancelled)
        after = enter_phase("job_1", next_phase)(before)
        if (phase, next_phase) in transitions:
            assert after.move
            assert (after.move.phase, after.placement is Placement.SILO) == (next_phase, next_phase is CLEARING)
        else:
            assert after == before
        assert enter_phase("job_2", next_phase)(before) == before


def test_a_move_finishes_only_from_its_last_phase() -> None:
    for phase in MovePhase:
        before = moving(phase)
        assert finish_move("job_1")(before) == (replace(before, move=None) if phase is CLEARING else before)
        assert finish_move("job_2")(before) == before


def test_only_a_cancelled_move_that_is_not_switched_is_rolled_back() -> None:
    for phase, is_cancelled in product(MovePhase, (False, True)):
        before = moving(phase, is_cancelled=is_cancelled)
        after = roll_back("job_1")(before)
        if is_cancelled and phase not in {SWITCHED, CLEARING}:
            assert after.move
            assert (after.move.phase, after.move.target) == (CLEARING, Placement.POOL)
        else:
            assert after == before
