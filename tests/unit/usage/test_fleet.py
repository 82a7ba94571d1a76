"""Every process of the fleet gives out its part of a quota, as the settings count them."""

from typing import Any, cast

import pytest

from keyfence.app.tenants import turns_of
from keyfence.settings import Settings
from keyfence.store.dynamodb.capacity import CapacityMeter


@pytest.mark.parametrize(
    ("given", "servers"),
    [({}, 1), ({"workers": 3}, 3), ({"servers": 4}, 4), ({"servers": 4, "workers": 3}, 4)],
    ids=str,
)
def test_the_allowances_know_how_many_share_them(given: dict[str, int], servers: int) -> None:
    class Tables:
        meter = CapacityMeter()

    turns = turns_of(Settings(**cast("Any", given)), cast("Any", Tables()))
    assert turns.allowances.servers == servers
