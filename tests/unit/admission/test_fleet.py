"""Every process of the fleet gives out its part of a quota, as the settings count them."""

from typing import Any, cast

import pytest

from keyfence.admission.admission import Admission
from keyfence.settings import Settings
from keyfence.store.dynamodb.capacity import CapacityMeter


@pytest.mark.parametrize(
    ("given", "servers"),
    [({}, 1), ({"workers": 3}, 3), ({"servers": 4}, 4), ({"servers": 4, "workers": 3}, 4)],
    ids=str,
)
def test_the_allowances_know_how_many_share_them(given: dict[str, int], servers: int) -> None:
    admission = Admission.from_settings(Settings(**cast("Any", given)), CapacityMeter())
    assert admission.limits.servers == servers
