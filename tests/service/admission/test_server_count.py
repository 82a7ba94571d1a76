"""Each process grants its share of a quota. The settings say how many processes there are."""

from typing import Any, cast

import pytest

from keyfence.admission.admission import Admission
from keyfence.settings import Settings
from keyfence.store.dynamodb.capacity import CapacityMeter


@pytest.mark.parametrize(
    ("options", "servers"),
    [({}, 1), ({"workers": 3}, 3), ({"servers": 4}, 4), ({"servers": 4, "workers": 3}, 4)],
    ids=str,
)
def test_limits_are_divided_by_the_number_of_processes_in_the_settings(options: dict[str, int], servers: int) -> None:
    admission = Admission.from_settings(Settings(**cast("Any", options)), CapacityMeter())
    assert admission.limits.servers == servers


def test_the_server_count_is_the_setting_or_the_number_of_workers() -> None:
    assert Settings(workers=3).server_count == 3
    assert Settings(workers=3, servers=12).server_count == 12
