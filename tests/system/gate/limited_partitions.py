"""Items of tenant a1, and the units that partitions were charged for."""

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from keyfence_iam.dynamodb.capacity import Partition, PartitionUnits
from keyfence_iam.gate.throughput.partition_limits import PartitionLimits
from keyfence_iam.tenant import parse_tenant_id

A1, A10 = parse_tenant_id("a1"), parse_tenant_id("a10")
THROTTLED = "ProvisionedThroughputExceededException"

Item = dict[str, Any]


def make_item(partition: str, sort: str = "s", size: int = 0, tenant: str = A1, **texts: str) -> Item:
    """Returns an item. With `size` and without `texts`, the item has exactly this many bytes."""
    item = {"PK": {"S": f"TENANT#{tenant}#{partition}"}, "SK": {"S": sort}}
    key_size = sum(len(attribute) + len(value["S"]) for attribute, value in item.items())
    return {**item, **({"d": {"S": "x" * (size - key_size - 1)}} if size else {}), **string_attributes(texts)}


def string_attributes(values: dict[str, str]) -> Item:
    return {attribute: {"S": value} for attribute, value in values.items()}


def key(name: str, sort: str = "s", tenant: str = A1) -> Item:
    return make_item(name, sort, tenant=tenant)


def make_indexed_item(partition: str, sort: str = "s", **texts: str) -> Item:
    """Returns an item that is also in GSI1, in the partition `<partition>-LIST`."""
    return {
        **make_item(partition, sort, GSI1PK=f"TENANT#{A1}#{partition}-LIST", GSI1SK=sort),
        **string_attributes(texts),
    }


def charged_units(limits: PartitionLimits) -> dict[tuple[str | None, str], tuple[float, float]]:
    """Returns the charged read and write units by index and partition key."""
    report = limits.traffic_report()
    return {
        (row["index"], row["key"]): (
            round(row["read"] * report["seconds"], 3),
            round(row["write"] * report["seconds"], 3),
        )
        for row in report["partitions"]
    }


def units_of(limits: PartitionLimits, name: str, index: str | None = None) -> tuple[float, float]:
    return charged_units(limits).get((index, f"TENANT#{A1}#{name}"), (0.0, 0.0))


def error_response(call: Callable[[], Any]) -> dict[str, Any]:
    with pytest.raises(ClientError) as error:
        call()
    return dict(error.value.response)


def error_code(call: Callable[[], Any]) -> str:
    return str(error_response(call)["Error"]["Code"])


def exhaust(limits: PartitionLimits, table: str, name: str, kind: Any = "write", index: str | None = None) -> None:
    """Takes all units of a partition and one more, so that the partition is in debt by one unit."""
    rates = limits.rates
    units = rates.units_per_second(kind) * rates.burst_seconds + 1
    limits.buckets.take([PartitionUnits(Partition(table, index, f"TENANT#{A1}#{name}"), kind, units)])
