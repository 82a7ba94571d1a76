"""Capacity units count as reads or writes, by the answer or else by the operation."""

from typing import Any

import pytest

from keyfence.store.dynamodb.capacity import CapacityMeter, consumed_capacity


@pytest.mark.parametrize(
    ("operation", "consumed", "reads", "writes"),
    [
        ("GetItem", {"CapacityUnits": 0.5}, 0.5, 0.0),
        ("Query", {"CapacityUnits": 3.0}, 3.0, 0.0),
        ("BatchGetItem", [{"CapacityUnits": 3.0}, {"CapacityUnits": 1.5}], 4.5, 0.0),
        ("PutItem", {"CapacityUnits": 2.0}, 0.0, 2.0),
        ("UpdateItem", {"CapacityUnits": 2.0}, 0.0, 2.0),
        ("DeleteItem", {"CapacityUnits": 2.0}, 0.0, 2.0),
        ("BatchWriteItem", [{"CapacityUnits": 25.0}], 0.0, 25.0),
        ("TransactWriteItems", [{"CapacityUnits": 4.0}], 0.0, 4.0),
        ("TransactWriteItems", [{"CapacityUnits": 4.0, "WriteCapacityUnits": 4.0}], 0.0, 4.0),
        ("TransactWriteItems", [{"CapacityUnits": 4.0, "ReadCapacityUnits": 4.0}], 4.0, 0.0),
        ("TransactWriteItems", [], 0.0, 0.0),
        ("GetItem", None, 0.0, 0.0),
    ],
    ids=str,
)
def test_read_and_write_units_are_counted_apart(operation: str, consumed: Any, reads: float, writes: float) -> None:
    found = consumed_capacity(operation, consumed)
    assert (found.read_units, found.write_units) == (reads, writes)


def test_consumed_capacity_reaches_every_account_once() -> None:
    tenant, total_meter = CapacityMeter(), CapacityMeter()
    for units in (0.5, 2):
        CapacityMeter(accounts=(tenant, total_meter)).record("Query", {"ConsumedCapacity": {"CapacityUnits": units}})
    CapacityMeter(accounts=(total_meter,)).record("PutItem", {"ConsumedCapacity": {"CapacityUnits": 1}})
    assert (tenant.read_units, tenant.write_units, tenant.calls) == (2.5, 0.0, {"Query": 2})
    assert (total_meter.read_units, total_meter.write_units, total_meter.calls) == (
        2.5,
        1.0,
        {"Query": 2, "PutItem": 1},
    )
