"""The gate charges calls to partitions as DynamoDB does."""

import random
from typing import TYPE_CHECKING, Any

import pytest

from keyfence_iam.gate.throughput.partition_limits import PartitionLimits
from tests.fakes.clock import ManualClock
from tests.stack import ServiceStack
from tests.system.gate.limited_partitions import (
    THROTTLED,
    Item,
    charged_units,
    error_code,
    exhaust,
    key,
    make_indexed_item,
    make_item,
    units_of,
)

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


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
