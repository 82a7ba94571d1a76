"""Only a tenant whose items are in the pool, and in the pool alone, can leave."""

import pytest

from service.errors import Conflict
from service.operations.offboarding.beginning import leaving
from service.tenancy.lifecycle import TenantStatus
from service.tenancy.model import Tenant
from service.tenancy.move import MovePhase, Placement
from tests.unit.tenancy.test_moving_homes import tenant


@pytest.mark.parametrize("phase", MovePhase)
@pytest.mark.parametrize("placement", Placement)
def test_nobody_leaves_while_being_moved(placement: Placement, phase: MovePhase) -> None:
    with pytest.raises(Conflict, match="end that first"):
        leaving(tenant(placement, phase))


def test_who_has_a_table_of_its_own_comes_back_first() -> None:
    with pytest.raises(Conflict, match="bring it back first"):
        leaving(tenant(Placement.SILO))
    left: Tenant = leaving(tenant())
    assert left.status is TenantStatus.OFFBOARDING
