"""A tenant can be offboarded from any placement, but not while a job moves its items."""

from dataclasses import replace

import pytest

from keyfence.errors import Conflict
from keyfence.jobs.job_record import JobId
from keyfence.jobs.offboard.start_offboarding import mark_offboarding
from keyfence.store.shards import ShardCounts
from keyfence.tenancy.placement import MovePhase, Placement
from keyfence.tenancy.tenant_status import TenantStatus
from tests.service.tenancy.test_location_during_move import tenant

JOB = JobId("job_2")


@pytest.mark.parametrize("phase", MovePhase)
@pytest.mark.parametrize("placement", Placement)
def test_a_tenant_that_is_being_moved_cannot_be_offboarded(placement: Placement, phase: MovePhase) -> None:
    moving = tenant(placement, phase)
    assert moving.move
    with pytest.raises(Conflict, match=f"`keyfence job resume {moving.move.job_id}`") as refusal:
        mark_offboarding(moving, JOB)
    assert refusal.value.extensions == {"job": moving.move.job_id}


def test_a_tenant_whose_shards_are_being_changed_cannot_be_offboarded() -> None:
    still, changing = ShardCounts(read_shards=2, write_shards=2), ShardCounts(job_id="job_1")
    with pytest.raises(Conflict, match=r"the shards of users .* `keyfence job resume job_1`"):
        mark_offboarding(replace(tenant(), shards={"groups": still, "users": changing}), JOB)
    assert mark_offboarding(replace(tenant(), shards={"groups": still}), JOB).status is TenantStatus.OFFBOARDING


@pytest.mark.parametrize("placement", Placement)
def test_a_tenant_without_a_running_job_can_be_offboarded_from_any_placement(placement: Placement) -> None:
    gone = mark_offboarding(tenant(placement), JOB)
    assert (gone.status, gone.placement) == (TenantStatus.OFFBOARDING, placement)
