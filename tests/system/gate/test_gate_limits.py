"""The gate limits partitions as DynamoDB does, and charges calls as DynamoDB does."""

import contextlib
import random
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from keyfence_iam.dynamodb.capacity import Partition, PartitionUnits
from keyfence_iam.gate.throughput.partition_buckets import PartitionRates
from keyfence_iam.gate.throughput.partition_limits import PartitionLimits
from keyfence_iam.tenant import parse_tenant_id
from tests.fakes.clock import ManualClock
from tests.stack import ServiceStack

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


A1, A10 = parse_tenant_id("a1"), parse_tenant_id("a10")
THROTTLED = "ProvisionedThroughputExceededException"

Item = dict[str, Any]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def limits(stack: ServiceStack, clock: ManualClock) -> Iterator[PartitionLimits]:
    stack.gate.limits = PartitionLimits(now=clock)
    yield stack.gate.limits
    stack.gate.limits = None


@pytest.fixture
def table(stack: ServiceStack) -> str:
    return stack.settings.table


@pytest.fixture
def a1(stack: ServiceStack, limits: PartitionLimits) -> "DynamoDBClient":
    """Returns a client of tenant a1. The fixture `limits` is used first, so that its calls have limits."""
    return stack.boto_client(A1)


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


@pytest.mark.parametrize(("size", "units"), [(1024, 1), (1025, 2), (2048, 2), (2049, 3)])
def test_a_write_costs_one_unit_for_each_kilobyte_rounded_up(
    limits: PartitionLimits, a1: "DynamoDBClient", table: str, size: int, units: int
) -> None:
    name = f"W{size}"
    a1.put_item(TableName=table, Item=make_item(name, size=size))
    assert units_of(limits, name) == (0, units)


@pytest.mark.parametrize(("size", "units"), [(4096, 0.5), (4097, 1)])
def test_a_read_costs_half_a_unit_for_each_four_kilobytes_and_a_consistent_read_costs_twice_as_much(
    stack: ServiceStack, limits: PartitionLimits, a1: "DynamoDBClient", table: str, size: int, units: float
) -> None:
    name = f"R{size}"
    stack.engine_client().put_item(TableName=table, Item=make_item(name, size=size))
    a1.get_item(TableName=table, Key=key(name))
    assert units_of(limits, name) == (units, 0)
    a1.get_item(TableName=table, Key=key(name), ConsistentRead=True)
    assert units_of(limits, name) == (units * 3, 0)


def test_overwriting_and_deleting_cost_as_much_as_the_larger_item(
    limits: PartitionLimits, a1: "DynamoDBClient", table: str
) -> None:
    a1.put_item(TableName=table, Item=make_item("OVER", size=3000))
    a1.put_item(TableName=table, Item=make_item("OVER", size=100))
    assert units_of(limits, "OVER") == (0, 6)
    a1.put_item(TableName=table, Item=make_item("OVER", size=5000))
    a1.delete_item(TableName=table, Key=key("OVER"))
    a1.delete_item(TableName=table, Key=key("OVER"))
    assert units_of(limits, "OVER") == (0, 6 + 5 + 5 + 1)


def test_a_transaction_costs_twice_as_much_as_its_items(
    limits: PartitionLimits, a1: "DynamoDBClient", table: str
) -> None:
    a1.put_item(TableName=table, Item=make_item("TX", "there", size=5000))
    a1.transact_write_items(
        TransactItems=[
            {"Put": {"TableName": table, "Item": make_item("TX", size=1025)}},
            {
                "ConditionCheck": {
                    "TableName": table,
                    "Key": key("TX", "there"),
                    "ConditionExpression": "attribute_exists(PK)",
                }
            },
        ]
    )
    assert units_of(limits, "TX") == (0, 5 + 2 * 2 + 2 * 5)
    a1.transact_get_items(
        TransactItems=[{"Get": {"TableName": table, "Key": key("TX", sort)}} for sort in ("there", "nowhere")]
    )
    assert units_of(limits, "TX") == (2 * 2 + 2 * 1, 5 + 4 + 10)


def test_a_changed_index_key_is_charged_to_the_old_and_the_new_index_partition(
    limits: PartitionLimits, a1: "DynamoDBClient", table: str
) -> None:
    a1.put_item(TableName=table, Item=make_item("IX", GSI1PK="TENANT#a1#OLD", GSI1SK="1", name="x" * 2000))
    assert units_of(limits, "OLD", "GSI1") == (0, 2)
    a1.update_item(
        TableName=table,
        Key=key("IX"),
        UpdateExpression="SET GSI1PK = :new, #n = :short",
        ExpressionAttributeNames={"#n": "name"},
        ExpressionAttributeValues={":new": {"S": "TENANT#a1#NEW"}, ":short": {"S": "s"}},
    )
    assert units_of(limits, "OLD", "GSI1") == (0, 4)
    assert units_of(limits, "NEW", "GSI1") == (0, 1)
    a1.update_item(TableName=table, Key=key("IX"), UpdateExpression="REMOVE GSI1PK")
    assert units_of(limits, "NEW", "GSI1") == (0, 2)


def test_a_change_of_an_attribute_that_is_not_projected_does_not_charge_the_index(
    limits: PartitionLimits, a1: "DynamoDBClient", table: str
) -> None:
    a1.put_item(TableName=table, Item=make_indexed_item("CARRY", name="n"))
    for _ in range(2):
        a1.put_item(TableName=table, Item={**make_indexed_item("CARRY", name="n"), "d": {"S": "not projected"}})
    assert units_of(limits, "CARRY-LIST", "GSI1") == (0, 1)


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


def test_a_failed_condition_costs_as_much_as_writing_the_stored_item(
    limits: PartitionLimits, a1: "DynamoDBClient", table: str
) -> None:
    a1.put_item(TableName=table, Item=make_indexed_item("COND", name="n" * 3200))
    assert (units_of(limits, "COND"), units_of(limits, "COND-LIST", "GSI1")) == ((0, 4), (0, 4))
    put: Any = {"TableName": table, "Item": make_item("COND"), "ConditionExpression": "attribute_not_exists(PK)"}
    assert error_code(lambda: a1.put_item(**put)) == "ConditionalCheckFailedException"
    assert (units_of(limits, "COND"), units_of(limits, "COND-LIST", "GSI1")) == ((0, 8), (0, 4))
    assert error_code(lambda: a1.transact_write_items(TransactItems=[{"Put": put}])) == "TransactionCanceledException"
    assert (units_of(limits, "COND"), units_of(limits, "COND-LIST", "GSI1")) == ((0, 16), (0, 4))


def test_a_call_that_the_engine_rejects_costs_nothing(
    limits: PartitionLimits, a1: "DynamoDBClient", table: str
) -> None:
    invalid_item: Any = {"PK": {"S": "TENANT#a1#WRONG"}, "SK": {"N": "1"}}
    assert error_code(lambda: a1.put_item(TableName=table, Item=invalid_item)) == "ValidationException"
    assert units_of(limits, "WRONG") == (0, 0)


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


def test_a_query_on_an_index_is_charged_to_the_partition_of_the_index(
    stack: ServiceStack, limits: PartitionLimits, a1: "DynamoDBClient", table: str
) -> None:
    for number in range(3):
        stack.engine_client().put_item(TableName=table, Item=make_indexed_item("Q", str(number), name="n" * 2000))
    query: Any = {
        "IndexName": "GSI1",
        "KeyConditionExpression": "GSI1PK = :p",
        "ExpressionAttributeValues": {":p": {"S": "TENANT#a1#Q-LIST"}},
    }
    a1.query(TableName=table, **query)
    assert charged_units(limits) == {("GSI1", "TENANT#a1#Q-LIST"): (1, 0)}
    exhaust(limits, table, "Q-LIST", "read", "GSI1")
    assert error_code(lambda: a1.query(TableName=table, **query)) == THROTTLED


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


def test_only_a_caller_that_requests_consumed_capacity_gets_it(a1: "DynamoDBClient", table: str) -> None:
    get: Any = {"TableName": table, "Key": key("ASK")}
    assert "ConsumedCapacity" not in dict(a1.put_item(TableName=table, Item=make_item("ASK")))
    assert "ConsumedCapacity" not in dict(a1.get_item(**get, ReturnConsumedCapacity="NONE"))
    assert "ConsumedCapacity" in dict(a1.get_item(**get, ReturnConsumedCapacity="TOTAL"))
    query: Any = {"KeyConditionExpression": "PK = :p", "ExpressionAttributeValues": {":p": {"S": "TENANT#a1#ASK"}}}
    answer = dict(a1.query(TableName=table, **query))
    assert "ConsumedCapacity" not in answer
    assert answer["Items"] == [make_item("ASK")]


@pytest.mark.one_engine
def test_a_query_that_returns_less_than_it_reads_is_charged_as_the_engine_reports(
    stack: ServiceStack, limits: PartitionLimits, a1: "DynamoDBClient", table: str
) -> None:
    for number in range(4):
        stack.engine_client().put_item(TableName=table, Item=make_item("COUNT", str(number), size=8192))
    query: Any = {"KeyConditionExpression": "PK = :p", "ExpressionAttributeValues": {":p": {"S": "TENANT#a1#COUNT"}}}
    assert a1.query(TableName=table, Select="COUNT", **query)["Count"] == 4
    assert units_of(limits, "COUNT") == (4, 0)


def test_reading_a_part_of_an_item_costs_as_much_as_reading_the_whole_item(
    stack: ServiceStack, limits: PartitionLimits, a1: "DynamoDBClient", table: str
) -> None:
    for number in range(4):
        stack.engine_client().put_item(TableName=table, Item=make_item("HIDE", str(number), size=8192))
    a1.get_item(TableName=table, Key=key("HIDE", "1"), ProjectionExpression="PK")
    assert units_of(limits, "HIDE") == (1, 0)
    a1.batch_get_item(
        RequestItems={table: {"Keys": [key("HIDE", "1"), key("HIDE", "2")], "ProjectionExpression": "PK"}}
    )
    assert units_of(limits, "HIDE") == (3, 0)
    get: Any = {"TableName": table, "Key": key("HIDE", "1"), "ProjectionExpression": "PK"}
    a1.transact_get_items(TransactItems=[{"Get": get}])
    assert units_of(limits, "HIDE") == (7, 0)


@pytest.mark.one_engine
def test_a_repeated_transaction_with_the_same_token_is_charged_for_reads_only(
    limits: PartitionLimits, a1: "DynamoDBClient", table: str
) -> None:
    items: Any = [{"Put": {"TableName": table, "Item": make_item("AGAIN", size=1500)}}]
    for _ in range(2):
        a1.transact_write_items(TransactItems=items, ClientRequestToken="the same token")
    read, written = units_of(limits, "AGAIN")
    assert written == 4
    assert read > 0


def units_by_index(consumed: Any) -> dict[str | None, float]:
    """Returns the units that the engine reports, by index. None is the table."""
    units: dict[str | None, float] = {}
    for capacity in consumed if isinstance(consumed, list) else [consumed]:
        parts = {None: capacity.get("Table", {}), **capacity.get("GlobalSecondaryIndexes", {})}
        for index, part in parts.items():
            units[index] = units.get(index, 0) + part["CapacityUnits"]
    return {index: number for index, number in units.items() if number}


def random_item(rng: random.Random) -> Item:
    item = make_item("ANY", str(rng.randrange(4)), d="x" * rng.choice([1, 1000, 3000]))
    if rng.random() < 0.7:
        item |= {"GSI1PK": {"S": f"TENANT#a1#L{rng.randrange(2)}"}, "GSI1SK": {"S": str(rng.randrange(2))}}
    if rng.random() < 0.5:
        item |= {"GSI2PK": {"S": "TENANT#a1#M"}, "GSI2SK": {"S": "1"}, "description": {"S": "y" * 1500}}
    if rng.random() < 0.5:
        item["name"] = {"S": "n" * rng.choice([1, 1200])}
    item["memberCount"] = {"N": str(rng.randrange(-2000, 2000))}
    return item


def random_update(rng: random.Random) -> dict[str, Any]:
    names = {"#n": "name", "#m": "memberCount"}
    choices: list[tuple[str, Any]] = [
        ("SET #n = :n, d = :d", {":n": {"S": "n" * rng.choice([1, 1100])}, ":d": {"S": "z"}}),
        ("SET GSI1PK = :p, GSI1SK = :s", {":p": {"S": "TENANT#a1#L1"}, ":s": {"S": str(rng.randrange(2))}}),
        ("REMOVE GSI1PK", {}),
        ("REMOVE GSI2PK, GSI2SK SET d = :d", {":d": {"S": "d" * 2000}}),
        ("ADD #m :one", {":one": {"N": "1"}}),
        ("SET d = if_not_exists(d, :d), q = list_append(if_not_exists(q, :e), :l)", None),
    ]
    expression, values = rng.choice(choices)
    if values is None:
        values = {":d": {"S": "x"}, ":e": {"L": []}, ":l": {"L": [{"S": "q" * 900}]}}
    used = {name: attribute for name, attribute in names.items() if name in expression}
    return {
        "UpdateExpression": expression,
        **({"ExpressionAttributeNames": used} if used else {}),
        **({"ExpressionAttributeValues": values} if values else {}),
    }


def random_write(rng: random.Random, client: "DynamoDBClient", table: str) -> Any:
    common: Any = {"ReturnConsumedCapacity": "INDEXES"}
    item_key = key("ANY", str(rng.randrange(4)))
    update: Any = {"TableName": table, "Key": item_key, **random_update(rng)}
    match rng.randrange(5):
        case 0:
            return client.put_item(TableName=table, Item=random_item(rng), **common)
        case 1:
            return client.update_item(**update, **common)
        case 2:
            return client.delete_item(TableName=table, Key=item_key, **common)
        case 3:
            first: Any = {"PutRequest": {"Item": {**random_item(rng), "SK": {"S": "first"}}}}
            return client.batch_write_item(
                RequestItems={table: [first, {"DeleteRequest": {"Key": item_key}}]}, **common
            )
    put: Any = {"Put": {"TableName": table, "Item": {**random_item(rng), "SK": {"S": "first"}}}}
    return client.transact_write_items(TransactItems=[put, {"Update": update}], **common)


@pytest.mark.one_engine
@pytest.mark.parametrize("seed", range(4))
def test_a_random_write_is_charged_as_the_engine_reports(
    stack: ServiceStack, a1: "DynamoDBClient", table: str, clock: ManualClock, seed: int
) -> None:
    rng = random.Random(seed)
    for number in range(150):
        limits = stack.gate.limits = PartitionLimits(now=clock)
        answer = random_write(rng, a1, table)
        charged: dict[str | None, float] = {}
        for (index, _), (_, units) in charged_units(limits).items():
            charged[index] = charged.get(index, 0) + units
        assert charged == units_by_index(answer["ConsumedCapacity"]), number
