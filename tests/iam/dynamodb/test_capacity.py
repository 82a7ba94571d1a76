"""Capacity units of sizes in bytes, limits of a partition, and `ConsumedCapacity` of a response."""

from typing import Any

import pytest

from keyfence_iam.dynamodb.capacity import (
    consumed_total,
    consumed_units,
    partition_seconds,
    partition_share,
    read_units,
    write_units,
)


@pytest.mark.parametrize(("size", "units"), [(0, 1), (1, 1), (1024, 1), (1025, 2), (409_600, 400)])
def test_a_write_costs_a_unit_for_each_started_kilobyte(size: int, units: float) -> None:
    assert write_units(size) == units


@pytest.mark.parametrize(("size", "units"), [(0, 1), (1, 1), (4096, 1), (4097, 2), (8192, 2), (8193, 3)])
def test_an_eventually_consistent_read_costs_half(size: int, units: float) -> None:
    assert read_units(size, consistent=True) == units
    assert read_units(size, consistent=False) == units / 2


def test_the_limit_of_a_partition_is_3000_reads_or_1000_writes_a_second() -> None:
    assert (partition_share(3_000, 0), partition_share(0, 1_000), partition_share(1_500, 1_000)) == (1, 1, 1)
    assert partition_seconds(1_500, 500) == 1


READ_CAPACITY, WRITE_CAPACITY = {"CapacityUnits": 2.5}, {"CapacityUnits": 4.0}
REPEATED_TRANSACTION = {"CapacityUnits": 2.0, "ReadCapacityUnits": 2.0}
READ_AND_WRITE_CAPACITY = {"CapacityUnits": 5.0, "ReadCapacityUnits": 2.0, "WriteCapacityUnits": 3.0}


@pytest.mark.parametrize(
    ("operation", "consumed", "units"),
    [
        ("Query", READ_CAPACITY, (2.5, 0)),
        ("PutItem", WRITE_CAPACITY, (0, 4)),
        ("BatchGetItem", [READ_CAPACITY, READ_CAPACITY], (5, 0)),
        ("BatchWriteItem", [WRITE_CAPACITY, WRITE_CAPACITY], (0, 8)),
        ("TransactWriteItems", [REPEATED_TRANSACTION], (2, 0)),
        ("TransactWriteItems", [READ_AND_WRITE_CAPACITY, WRITE_CAPACITY], (2, 7)),
        ("Query", None, (0, 0)),
        ("Query", {"CapacityUnits": None}, (0, 0)),
        ("Query", [None, "?", READ_CAPACITY], (2.5, 0)),
    ],
    ids=str,
)
def test_consumed_capacity_is_split_into_read_and_write_units(
    operation: str, consumed: Any, units: tuple[float, float]
) -> None:
    assert consumed_units(operation, consumed) == units
    assert consumed_total(consumed) == sum(units)
