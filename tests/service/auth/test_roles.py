"""A role may do everything that weaker roles may do."""

import pytest

from keyfence.auth.principal import Role

STRONGEST_FIRST = [Role.OWNER, Role.ADMIN, Role.MEMBER, Role.VIEWER]


@pytest.mark.parametrize("role", STRONGEST_FIRST)
def test_a_role_covers_exactly_itself_and_the_weaker_ones(role: Role) -> None:
    covered = [required for required in STRONGEST_FIRST if role.covers(required)]
    assert covered == STRONGEST_FIRST[STRONGEST_FIRST.index(role) :]
