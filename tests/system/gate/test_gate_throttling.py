"""The gate throttles calls to partitions without units, as DynamoDB does."""

import contextlib
from typing import TYPE_CHECKING, Any

from keyfence_iam.gate.throughput.partition_limits import PartitionLimits
from keyfence_iam.gate.throughput.partition_rates import PartitionRates
from tests.fakes.clock import ManualClock
from tests.stack import ServiceStack
from tests.system.gate.limited_partitions import (
    A10,
    THROTTLED,
    error_code,
    error_response,
    exhaust,
    key,
    make_indexed_item,
    make_item,
    units_of,
)

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


def test_an_exhausted_index_partition_throttles_a_write_to_the_table(
    stack: ServiceStack, limits: PartitionLimits, a1: "DynamoDBClient", table: str
) -> None:
    exhaust(limits, table, "HOT-LIST", index="GSI1")
    error = error_response(lambda: a1.put_item(TableName=table, Item=make_indexed_item("HOT")))
    assert error["Error"]["Code"] == THROTTLED
    assert "global secondary indexes" in error["Error"]["Message"]
    assert error["ResponseMetadata"]["HTTPStatusCode"] == 400
    assert "Item" not in stack.engine_client().get_item(TableName=table, Key=key("HOT"))
    a1.put_item(TableName=table, Item=make_item("HOT"))


def test_an_exhausted_index_partition_throttles_the_removal_of_an_item_from_it(
    limits: PartitionLimits, a1: "DynamoDBClient", table: str
) -> None:
    a1.put_item(TableName=table, Item=make_indexed_item("LEAVE"))
    exhaust(limits, table, "LEAVE-LIST", index="GSI1")
    assert error_code(lambda: a1.delete_item(TableName=table, Key=key("LEAVE"))) == THROTTLED
    assert (
        error_code(lambda: a1.update_item(TableName=table, Key=key("LEAVE"), UpdateExpression="REMOVE GSI1PK"))
        == THROTTLED
    )


def test_a_partition_serves_its_burst_and_then_its_rate_and_other_partitions_are_not_affected(
    stack: ServiceStack, limits: PartitionLimits, a1: "DynamoDBClient", table: str, clock: ManualClock
) -> None:
    stack.gate.limits = PartitionLimits(PartitionRates(write=10, burst_seconds=2), now=clock)

    def write() -> bool:
        with contextlib.suppress(a1.exceptions.ProvisionedThroughputExceededException):
            a1.put_item(TableName=table, Item=make_item("BURST"))
            return True
        return False

    assert [write() for _ in range(22)] == [True] * 20 + [False] * 2
    stack.boto_client(A10).put_item(TableName=table, Item=make_item("BURST", tenant=A10))
    a1.put_item(TableName=table, Item=make_item("BURST#2"))
    clock.now += 0.55
    assert [write() for _ in range(8)] == [True] * 6 + [False] * 2
    clock.now += 1000
    assert [write() for _ in range(22)] == [True] * 20 + [False] * 2


def test_a_large_query_puts_its_partition_in_debt_until_the_debt_is_refilled(
    stack: ServiceStack, limits: PartitionLimits, a1: "DynamoDBClient", table: str, clock: ManualClock
) -> None:
    for number in range(10):
        stack.engine_client().put_item(TableName=table, Item=make_item("DEBT", str(number), size=8192))
    stack.gate.limits = PartitionLimits(PartitionRates(read=2, burst_seconds=1), now=clock)
    query: Any = {
        "TableName": table,
        "KeyConditionExpression": "PK = :p",
        "ExpressionAttributeValues": {":p": {"S": "TENANT#a1#DEBT"}},
    }
    assert len(a1.query(**query)["Items"]) == 10
    assert error_code(lambda: a1.query(**query)) == THROTTLED
    assert error_code(lambda: a1.get_item(TableName=table, Key=key("DEBT", "1"))) == THROTTLED
    clock.now += 3.9
    assert error_code(lambda: a1.query(**query)) == THROTTLED
    clock.now += 0.2
    a1.query(**query)


def test_throttled_writes_of_a_batch_are_returned_as_unprocessed(
    stack: ServiceStack, limits: PartitionLimits, a1: "DynamoDBClient", table: str, clock: ManualClock
) -> None:
    limits = stack.gate.limits = PartitionLimits(PartitionRates(write=3), now=clock)
    puts: Any = [{"PutRequest": {"Item": make_item("BATCH", str(number))}} for number in range(5)]
    other_put: Any = {"PutRequest": {"Item": make_item("QUIET")}}
    answer = a1.batch_write_item(RequestItems={table: [*puts, other_put]})
    assert answer["UnprocessedItems"] == {table: puts[3:]}
    assert units_of(limits, "BATCH") == (0, 3)
    exists = [
        "Item" in stack.engine_client().get_item(TableName=table, Key=key("BATCH", str(number))) for number in range(5)
    ]
    assert exists == [True] * 3 + [False] * 2
    assert "Item" in stack.engine_client().get_item(TableName=table, Key=key("QUIET"))
    assert [row["throttles"] for row in limits.traffic_report()["partitions"] if row["key"].endswith("#BATCH")] == [2]
    assert error_code(lambda: a1.batch_write_item(RequestItems={table: puts})) == THROTTLED
    assert [row["throttles"] for row in limits.traffic_report()["partitions"] if row["key"].endswith("#BATCH")] == [
        2 + 5
    ]


def test_throttled_reads_of_a_batch_are_returned_as_unprocessed(
    stack: ServiceStack, limits: PartitionLimits, a1: "DynamoDBClient", table: str, clock: ManualClock
) -> None:
    for number in range(3):
        stack.engine_client().put_item(TableName=table, Item=make_item("READS", str(number), size=5000))
    limits = stack.gate.limits = PartitionLimits(PartitionRates(read=2), now=clock)
    keys = [key("READS", str(number)) for number in range(3)]
    assert len(a1.batch_get_item(RequestItems={table: {"Keys": keys}})["Responses"][table]) == 3
    assert units_of(limits, "READS") == (3, 0)
    entry: Any = {"Keys": [*keys, key("ELSEWHERE")], "ConsistentRead": True, "ProjectionExpression": "PK"}
    answer = a1.batch_get_item(RequestItems={table: entry})
    unprocessed = answer["UnprocessedKeys"][table]
    assert (unprocessed["Keys"], unprocessed.get("ConsistentRead"), unprocessed.get("ProjectionExpression")) == (
        keys,
        True,
        "PK",
    )
    assert units_of(limits, "ELSEWHERE")[0] == 1
    assert error_code(lambda: a1.batch_get_item(RequestItems={table: {"Keys": keys}})) == THROTTLED


def test_a_throttled_transaction_has_a_reason_for_each_item_and_writes_nothing(
    stack: ServiceStack, limits: PartitionLimits, a1: "DynamoDBClient", table: str
) -> None:
    exhaust(limits, table, "FULL")
    items: Any = [{"Put": {"TableName": table, "Item": make_item(name)}} for name in ("FREE", "FULL", "ALSOFREE")]
    error = error_response(lambda: a1.transact_write_items(TransactItems=items))
    assert error["Error"]["Code"] == "TransactionCanceledException"
    assert [reason["Code"] for reason in error["CancellationReasons"]] == [
        "None",
        "ProvisionedThroughputExceeded",
        "None",
    ]
    assert error["Error"]["Message"].endswith("[None, ProvisionedThroughputExceeded, None]")
    assert "Item" not in stack.engine_client().get_item(TableName=table, Key=key("FREE"))
    assert units_of(limits, "FREE") == (0, 0)
    exhaust(limits, table, "FULL", "read")
    gets: Any = [{"Get": {"TableName": table, "Key": key(name)}} for name in ("FREE", "FULL")]
    error = error_response(lambda: a1.transact_get_items(TransactItems=gets))
    assert [reason["Code"] for reason in error["CancellationReasons"]] == ["None", "ProvisionedThroughputExceeded"]


def test_a_transaction_that_costs_more_than_the_units_left_is_executed_and_puts_the_partition_in_debt(
    stack: ServiceStack, limits: PartitionLimits, a1: "DynamoDBClient", table: str, clock: ManualClock
) -> None:
    limits = stack.gate.limits = PartitionLimits(PartitionRates(write=3), now=clock)
    items: Any = [{"Put": {"TableName": table, "Item": make_item("OWED", str(number))}} for number in range(5)]
    a1.transact_write_items(TransactItems=items)
    assert units_of(limits, "OWED") == (0, 10)
    clock.now += 2.3
    assert error_code(lambda: a1.put_item(TableName=table, Item=make_item("OWED"))) == THROTTLED
    clock.now += 0.1
    a1.put_item(TableName=table, Item=make_item("OWED"))
