"""Partitions behind the gate have the limits of DynamoDB's, and are charged as DynamoDB charges them."""

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
EXCEEDED = "ProvisionedThroughputExceededException"

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
    """Asked for after the limits, so that whoever has a client has limits."""
    return stack.boto_client(A1)


def thing(place: str, sort: str = "s", size: int = 0, tenant: str = A1, **others: str) -> Item:
    """An item of exactly so many bytes, where a size is given and nothing else."""
    item = {"PK": {"S": f"TENANT#{tenant}#{place}"}, "SK": {"S": sort}}
    known = sum(len(attribute) + len(value["S"]) for attribute, value in item.items())
    return {**item, **({"d": {"S": "x" * (size - known - 1)}} if size else {}), **texts(others)}


def texts(values: dict[str, str]) -> Item:
    return {attribute: {"S": value} for attribute, value in values.items()}


def key(name: str, sort: str = "s", tenant: str = A1) -> Item:
    return thing(name, sort, tenant=tenant)


def indexed(place: str, sort: str = "s", **others: str) -> Item:
    return {**thing(place, sort, GSI1PK=f"TENANT#{A1}#{place}-LIST", GSI1SK=sort), **texts(others)}


def spent(limits: PartitionLimits) -> dict[tuple[str | None, str], tuple[float, float]]:
    """Read and write units by index and partition."""
    seen = limits.traffic_report()
    return {
        (one["index"], one["key"]): (round(one["read"] * seen["seconds"], 3), round(one["write"] * seen["seconds"], 3))
        for one in seen["partitions"]
    }


def of(limits: PartitionLimits, name: str, index: str | None = None) -> tuple[float, float]:
    return spent(limits).get((index, f"TENANT#{A1}#{name}"), (0.0, 0.0))


def refusal(act: Callable[[], Any]) -> dict[str, Any]:
    with pytest.raises(ClientError) as error:
        act()
    return dict(error.value.response)


def code(act: Callable[[], Any]) -> str:
    return str(refusal(act)["Error"]["Code"])


def exhaust(limits: PartitionLimits, table: str, name: str, kind: Any = "write", index: str | None = None) -> None:
    """So that the partition owes one unit."""
    rates = limits.rates
    units = rates.units_per_second(kind) * rates.burst_seconds + 1
    limits.buckets.take([PartitionUnits(Partition(table, index, f"TENANT#{A1}#{name}"), kind, units)])


@pytest.mark.parametrize(("size", "units"), [(1024, 1), (1025, 2), (2048, 2), (2049, 3)])
def test_a_write_costs_a_unit_for_every_begun_kilobyte(
    limits: PartitionLimits, a1: "DynamoDBClient", table: str, size: int, units: int
) -> None:
    name = f"W{size}"
    a1.put_item(TableName=table, Item=thing(name, size=size))
    assert of(limits, name) == (0, units)


@pytest.mark.parametrize(("size", "units"), [(4096, 0.5), (4097, 1)])
def test_a_read_costs_half_a_unit_for_every_begun_four_kilobytes_and_twice_that_when_consistent(
    stack: ServiceStack, limits: PartitionLimits, a1: "DynamoDBClient", table: str, size: int, units: float
) -> None:
    name = f"R{size}"
    stack.engine_client().put_item(TableName=table, Item=thing(name, size=size))
    a1.get_item(TableName=table, Key=key(name))
    assert of(limits, name) == (units, 0)
    a1.get_item(TableName=table, Key=key(name), ConsistentRead=True)
    assert of(limits, name) == (units * 3, 0)


def test_overwriting_and_deleting_cost_what_the_larger_item_costs(
    limits: PartitionLimits, a1: "DynamoDBClient", table: str
) -> None:
    a1.put_item(TableName=table, Item=thing("OVER", size=3000))
    a1.put_item(TableName=table, Item=thing("OVER", size=100))
    assert of(limits, "OVER") == (0, 6)
    a1.put_item(TableName=table, Item=thing("OVER", size=5000))
    a1.delete_item(TableName=table, Key=key("OVER"))
    a1.delete_item(TableName=table, Key=key("OVER"))
    assert of(limits, "OVER") == (0, 6 + 5 + 5 + 1)


def test_a_transaction_costs_twice_what_its_items_cost(
    limits: PartitionLimits, a1: "DynamoDBClient", table: str
) -> None:
    a1.put_item(TableName=table, Item=thing("TX", "there", size=5000))
    a1.transact_write_items(
        TransactItems=[
            {"Put": {"TableName": table, "Item": thing("TX", size=1025)}},
            {
                "ConditionCheck": {
                    "TableName": table,
                    "Key": key("TX", "there"),
                    "ConditionExpression": "attribute_exists(PK)",
                }
            },
        ]
    )
    assert of(limits, "TX") == (0, 5 + 2 * 2 + 2 * 5)
    a1.transact_get_items(
        TransactItems=[{"Get": {"TableName": table, "Key": key("TX", sort)}} for sort in ("there", "nowhere")]
    )
    assert of(limits, "TX") == (2 * 2 + 2 * 1, 5 + 4 + 10)


def test_a_write_is_charged_to_the_partitions_of_indexes_it_leaves_and_enters(
    limits: PartitionLimits, a1: "DynamoDBClient", table: str
) -> None:
    a1.put_item(TableName=table, Item=thing("IX", GSI1PK="TENANT#a1#OLD", GSI1SK="1", name="x" * 2000))
    assert of(limits, "OLD", "GSI1") == (0, 2)
    a1.update_item(
        TableName=table,
        Key=key("IX"),
        UpdateExpression="SET GSI1PK = :new, #n = :short",
        ExpressionAttributeNames={"#n": "name"},
        ExpressionAttributeValues={":new": {"S": "TENANT#a1#NEW"}, ":short": {"S": "s"}},
    )
    assert of(limits, "OLD", "GSI1") == (0, 4)
    assert of(limits, "NEW", "GSI1") == (0, 1)
    a1.update_item(TableName=table, Key=key("IX"), UpdateExpression="REMOVE GSI1PK")
    assert of(limits, "NEW", "GSI1") == (0, 2)


def test_an_index_is_not_charged_for_what_it_does_not_carry(
    limits: PartitionLimits, a1: "DynamoDBClient", table: str
) -> None:
    a1.put_item(TableName=table, Item=indexed("CARRY", name="n"))
    for _ in range(2):
        a1.put_item(TableName=table, Item={**indexed("CARRY", name="n"), "d": {"S": "not carried"}})
    assert of(limits, "CARRY-LIST", "GSI1") == (0, 1)


def test_a_full_index_partition_turns_away_the_write_of_the_table(
    stack: ServiceStack, limits: PartitionLimits, a1: "DynamoDBClient", table: str
) -> None:
    exhaust(limits, table, "HOT-LIST", index="GSI1")
    refused = refusal(lambda: a1.put_item(TableName=table, Item=indexed("HOT")))
    assert refused["Error"]["Code"] == EXCEEDED
    assert "global secondary indexes" in refused["Error"]["Message"]
    assert refused["ResponseMetadata"]["HTTPStatusCode"] == 400
    assert "Item" not in stack.engine_client().get_item(TableName=table, Key=key("HOT"))
    a1.put_item(TableName=table, Item=thing("HOT"))


def test_a_full_index_partition_turns_away_the_update_that_leaves_it(
    limits: PartitionLimits, a1: "DynamoDBClient", table: str
) -> None:
    a1.put_item(TableName=table, Item=indexed("LEAVE"))
    exhaust(limits, table, "LEAVE-LIST", index="GSI1")
    assert code(lambda: a1.delete_item(TableName=table, Key=key("LEAVE"))) == EXCEEDED
    assert code(lambda: a1.update_item(TableName=table, Key=key("LEAVE"), UpdateExpression="REMOVE GSI1PK")) == EXCEEDED


def test_a_partition_gives_its_burst_then_its_rate_and_a_neighbour_notices_nothing(
    stack: ServiceStack, limits: PartitionLimits, a1: "DynamoDBClient", table: str, clock: ManualClock
) -> None:
    stack.gate.limits = PartitionLimits(PartitionRates(write=10, burst_seconds=2), now=clock)

    def write() -> bool:
        with contextlib.suppress(a1.exceptions.ProvisionedThroughputExceededException):
            a1.put_item(TableName=table, Item=thing("BURST"))
            return True
        return False

    assert [write() for _ in range(22)] == [True] * 20 + [False] * 2
    stack.boto_client(A10).put_item(TableName=table, Item=thing("BURST", tenant=A10))
    a1.put_item(TableName=table, Item=thing("BURST#2"))
    clock.now += 0.55
    assert [write() for _ in range(8)] == [True] * 6 + [False] * 2
    clock.now += 1000
    assert [write() for _ in range(22)] == [True] * 20 + [False] * 2


def test_a_large_query_puts_its_partition_in_debt_until_it_is_paid(
    stack: ServiceStack, limits: PartitionLimits, a1: "DynamoDBClient", table: str, clock: ManualClock
) -> None:
    for number in range(10):
        stack.engine_client().put_item(TableName=table, Item=thing("DEBT", str(number), size=8192))
    stack.gate.limits = PartitionLimits(PartitionRates(read=2, burst_seconds=1), now=clock)
    asked: Any = {
        "TableName": table,
        "KeyConditionExpression": "PK = :p",
        "ExpressionAttributeValues": {":p": {"S": "TENANT#a1#DEBT"}},
    }
    assert len(a1.query(**asked)["Items"]) == 10
    assert code(lambda: a1.query(**asked)) == EXCEEDED
    assert code(lambda: a1.get_item(TableName=table, Key=key("DEBT", "1"))) == EXCEEDED
    clock.now += 3.9
    assert code(lambda: a1.query(**asked)) == EXCEEDED
    clock.now += 0.2
    a1.query(**asked)


def test_a_condition_that_does_not_hold_costs_what_it_looked_at(
    limits: PartitionLimits, a1: "DynamoDBClient", table: str
) -> None:
    a1.put_item(TableName=table, Item=indexed("COND", name="n" * 3200))
    assert (of(limits, "COND"), of(limits, "COND-LIST", "GSI1")) == ((0, 4), (0, 4))
    put: Any = {"TableName": table, "Item": thing("COND"), "ConditionExpression": "attribute_not_exists(PK)"}
    assert code(lambda: a1.put_item(**put)) == "ConditionalCheckFailedException"
    assert (of(limits, "COND"), of(limits, "COND-LIST", "GSI1")) == ((0, 8), (0, 4))
    assert code(lambda: a1.transact_write_items(TransactItems=[{"Put": put}])) == "TransactionCanceledException"
    assert (of(limits, "COND"), of(limits, "COND-LIST", "GSI1")) == ((0, 16), (0, 4))


def test_what_the_engine_refuses_costs_nothing(limits: PartitionLimits, a1: "DynamoDBClient", table: str) -> None:
    wrong: Any = {"PK": {"S": "TENANT#a1#WRONG"}, "SK": {"N": "1"}}
    assert code(lambda: a1.put_item(TableName=table, Item=wrong)) == "ValidationException"
    assert of(limits, "WRONG") == (0, 0)


def test_of_a_batch_of_writes_what_finds_no_room_comes_back(
    stack: ServiceStack, limits: PartitionLimits, a1: "DynamoDBClient", table: str, clock: ManualClock
) -> None:
    limits = stack.gate.limits = PartitionLimits(PartitionRates(write=3), now=clock)
    puts: Any = [{"PutRequest": {"Item": thing("BATCH", str(number))}} for number in range(5)]
    quiet: Any = {"PutRequest": {"Item": thing("QUIET")}}
    answer = a1.batch_write_item(RequestItems={table: [*puts, quiet]})
    assert answer["UnprocessedItems"] == {table: puts[3:]}
    assert of(limits, "BATCH") == (0, 3)
    there = [
        "Item" in stack.engine_client().get_item(TableName=table, Key=key("BATCH", str(number))) for number in range(5)
    ]
    assert there == [True] * 3 + [False] * 2
    assert "Item" in stack.engine_client().get_item(TableName=table, Key=key("QUIET"))
    assert [one["throttles"] for one in limits.traffic_report()["partitions"] if one["key"].endswith("#BATCH")] == [2]
    assert code(lambda: a1.batch_write_item(RequestItems={table: puts})) == EXCEEDED
    assert [one["throttles"] for one in limits.traffic_report()["partitions"] if one["key"].endswith("#BATCH")] == [
        2 + 5
    ]


def test_a_query_on_an_index_is_charged_to_the_indexs_partition(
    stack: ServiceStack, limits: PartitionLimits, a1: "DynamoDBClient", table: str
) -> None:
    for number in range(3):
        stack.engine_client().put_item(TableName=table, Item=indexed("Q", str(number), name="n" * 2000))
    asked: Any = {
        "IndexName": "GSI1",
        "KeyConditionExpression": "GSI1PK = :p",
        "ExpressionAttributeValues": {":p": {"S": "TENANT#a1#Q-LIST"}},
    }
    a1.query(TableName=table, **asked)
    assert spent(limits) == {("GSI1", "TENANT#a1#Q-LIST"): (1, 0)}
    exhaust(limits, table, "Q-LIST", "read", "GSI1")
    assert code(lambda: a1.query(TableName=table, **asked)) == EXCEEDED


def test_of_a_batch_of_reads_what_finds_no_room_comes_back(
    stack: ServiceStack, limits: PartitionLimits, a1: "DynamoDBClient", table: str, clock: ManualClock
) -> None:
    for number in range(3):
        stack.engine_client().put_item(TableName=table, Item=thing("READS", str(number), size=5000))
    limits = stack.gate.limits = PartitionLimits(PartitionRates(read=2), now=clock)
    keys = [key("READS", str(number)) for number in range(3)]
    assert len(a1.batch_get_item(RequestItems={table: {"Keys": keys}})["Responses"][table]) == 3
    assert of(limits, "READS") == (3, 0)
    entry: Any = {"Keys": [*keys, key("ELSEWHERE")], "ConsistentRead": True, "ProjectionExpression": "PK"}
    answer = a1.batch_get_item(RequestItems={table: entry})
    back = answer["UnprocessedKeys"][table]
    assert (back["Keys"], back.get("ConsistentRead"), back.get("ProjectionExpression")) == (keys, True, "PK")
    assert of(limits, "ELSEWHERE")[0] == 1
    assert code(lambda: a1.batch_get_item(RequestItems={table: {"Keys": keys}})) == EXCEEDED


def test_a_transaction_is_cancelled_with_a_reason_for_each_item_and_writes_nothing(
    stack: ServiceStack, limits: PartitionLimits, a1: "DynamoDBClient", table: str
) -> None:
    exhaust(limits, table, "FULL")
    items: Any = [{"Put": {"TableName": table, "Item": thing(name)}} for name in ("FREE", "FULL", "ALSOFREE")]
    refused = refusal(lambda: a1.transact_write_items(TransactItems=items))
    assert refused["Error"]["Code"] == "TransactionCanceledException"
    assert [one["Code"] for one in refused["CancellationReasons"]] == ["None", "ProvisionedThroughputExceeded", "None"]
    assert refused["Error"]["Message"].endswith("[None, ProvisionedThroughputExceeded, None]")
    assert "Item" not in stack.engine_client().get_item(TableName=table, Key=key("FREE"))
    assert of(limits, "FREE") == (0, 0)
    exhaust(limits, table, "FULL", "read")
    gets: Any = [{"Get": {"TableName": table, "Key": key(name)}} for name in ("FREE", "FULL")]
    refused = refusal(lambda: a1.transact_get_items(TransactItems=gets))
    assert [one["Code"] for one in refused["CancellationReasons"]] == ["None", "ProvisionedThroughputExceeded"]


def test_a_transaction_larger_than_what_a_partition_has_is_done_and_owed(
    stack: ServiceStack, limits: PartitionLimits, a1: "DynamoDBClient", table: str, clock: ManualClock
) -> None:
    limits = stack.gate.limits = PartitionLimits(PartitionRates(write=3), now=clock)
    items: Any = [{"Put": {"TableName": table, "Item": thing("OWED", str(number))}} for number in range(5)]
    a1.transact_write_items(TransactItems=items)
    assert of(limits, "OWED") == (0, 10)
    clock.now += 2.3
    assert code(lambda: a1.put_item(TableName=table, Item=thing("OWED"))) == EXCEEDED
    clock.now += 0.1
    a1.put_item(TableName=table, Item=thing("OWED"))


def test_who_did_not_ask_what_it_consumed_is_not_told(a1: "DynamoDBClient", table: str) -> None:
    get: Any = {"TableName": table, "Key": key("ASK")}
    assert "ConsumedCapacity" not in dict(a1.put_item(TableName=table, Item=thing("ASK")))
    assert "ConsumedCapacity" not in dict(a1.get_item(**get, ReturnConsumedCapacity="NONE"))
    assert "ConsumedCapacity" in dict(a1.get_item(**get, ReturnConsumedCapacity="TOTAL"))
    asked: Any = {"KeyConditionExpression": "PK = :p", "ExpressionAttributeValues": {":p": {"S": "TENANT#a1#ASK"}}}
    answer = dict(a1.query(TableName=table, **asked))
    assert "ConsumedCapacity" not in answer
    assert answer["Items"] == [thing("ASK")]


@pytest.mark.one_engine
def test_a_query_that_shows_less_than_it_reads_is_charged_as_the_engine_tells(
    stack: ServiceStack, limits: PartitionLimits, a1: "DynamoDBClient", table: str
) -> None:
    for number in range(4):
        stack.engine_client().put_item(TableName=table, Item=thing("COUNT", str(number), size=8192))
    asked: Any = {"KeyConditionExpression": "PK = :p", "ExpressionAttributeValues": {":p": {"S": "TENANT#a1#COUNT"}}}
    assert a1.query(TableName=table, Select="COUNT", **asked)["Count"] == 4
    assert of(limits, "COUNT") == (4, 0)


def test_a_part_of_an_item_costs_as_much_as_the_whole(
    stack: ServiceStack, limits: PartitionLimits, a1: "DynamoDBClient", table: str
) -> None:
    for number in range(4):
        stack.engine_client().put_item(TableName=table, Item=thing("HIDE", str(number), size=8192))
    a1.get_item(TableName=table, Key=key("HIDE", "1"), ProjectionExpression="PK")
    assert of(limits, "HIDE") == (1, 0)
    a1.batch_get_item(
        RequestItems={table: {"Keys": [key("HIDE", "1"), key("HIDE", "2")], "ProjectionExpression": "PK"}}
    )
    assert of(limits, "HIDE") == (3, 0)
    get: Any = {"TableName": table, "Key": key("HIDE", "1"), "ProjectionExpression": "PK"}
    a1.transact_get_items(TransactItems=[{"Get": get}])
    assert of(limits, "HIDE") == (7, 0)


@pytest.mark.one_engine
def test_a_transaction_that_is_sent_again_only_reads(limits: PartitionLimits, a1: "DynamoDBClient", table: str) -> None:
    items: Any = [{"Put": {"TableName": table, "Item": thing("AGAIN", size=1500)}}]
    for _ in range(2):
        a1.transact_write_items(TransactItems=items, ClientRequestToken="the same token")
    read, written = of(limits, "AGAIN")
    assert written == 4
    assert read > 0


def units_by_index(consumed: Any) -> dict[str | None, float]:
    found: dict[str | None, float] = {}
    for one in consumed if isinstance(consumed, list) else [consumed]:
        parts = {None: one.get("Table", {}), **one.get("GlobalSecondaryIndexes", {})}
        for index, part in parts.items():
            found[index] = found.get(index, 0) + part["CapacityUnits"]
    return {index: units for index, units in found.items() if units}


def any_item(chance: random.Random) -> Item:
    item = thing("ANY", str(chance.randrange(4)), d="x" * chance.choice([1, 1000, 3000]))
    if chance.random() < 0.7:
        item |= {"GSI1PK": {"S": f"TENANT#a1#L{chance.randrange(2)}"}, "GSI1SK": {"S": str(chance.randrange(2))}}
    if chance.random() < 0.5:
        item |= {"GSI2PK": {"S": "TENANT#a1#M"}, "GSI2SK": {"S": "1"}, "description": {"S": "y" * 1500}}
    if chance.random() < 0.5:
        item["name"] = {"S": "n" * chance.choice([1, 1200])}
    item["memberCount"] = {"N": str(chance.randrange(-2000, 2000))}
    return item


def any_update(chance: random.Random) -> dict[str, Any]:
    names = {"#n": "name", "#m": "memberCount"}
    choices: list[tuple[str, Any]] = [
        ("SET #n = :n, d = :d", {":n": {"S": "n" * chance.choice([1, 1100])}, ":d": {"S": "z"}}),
        ("SET GSI1PK = :p, GSI1SK = :s", {":p": {"S": "TENANT#a1#L1"}, ":s": {"S": str(chance.randrange(2))}}),
        ("REMOVE GSI1PK", {}),
        ("REMOVE GSI2PK, GSI2SK SET d = :d", {":d": {"S": "d" * 2000}}),
        ("ADD #m :one", {":one": {"N": "1"}}),
        ("SET d = if_not_exists(d, :d), q = list_append(if_not_exists(q, :e), :l)", None),
    ]
    expression, values = chance.choice(choices)
    if values is None:
        values = {":d": {"S": "x"}, ":e": {"L": []}, ":l": {"L": [{"S": "q" * 900}]}}
    used = {name: attribute for name, attribute in names.items() if name in expression}
    return {
        "UpdateExpression": expression,
        **({"ExpressionAttributeNames": used} if used else {}),
        **({"ExpressionAttributeValues": values} if values else {}),
    }


def any_write(chance: random.Random, at: "DynamoDBClient", table: str) -> Any:
    common: Any = {"ReturnConsumedCapacity": "INDEXES"}
    where = key("ANY", str(chance.randrange(4)))
    changed: Any = {"TableName": table, "Key": where, **any_update(chance)}
    match chance.randrange(5):
        case 0:
            return at.put_item(TableName=table, Item=any_item(chance), **common)
        case 1:
            return at.update_item(**changed, **common)
        case 2:
            return at.delete_item(TableName=table, Key=where, **common)
        case 3:
            first: Any = {"PutRequest": {"Item": {**any_item(chance), "SK": {"S": "first"}}}}
            return at.batch_write_item(RequestItems={table: [first, {"DeleteRequest": {"Key": where}}]}, **common)
    put: Any = {"Put": {"TableName": table, "Item": {**any_item(chance), "SK": {"S": "first"}}}}
    return at.transact_write_items(TransactItems=[put, {"Update": changed}], **common)


@pytest.mark.one_engine
@pytest.mark.parametrize("seed", range(4))
def test_any_write_is_charged_what_the_engine_says_that_it_consumed(
    stack: ServiceStack, a1: "DynamoDBClient", table: str, clock: ManualClock, seed: int
) -> None:
    chance = random.Random(seed)
    for number in range(150):
        limits = stack.gate.limits = PartitionLimits(now=clock)
        answer = any_write(chance, a1, table)
        charged: dict[str | None, float] = {}
        for (index, _), (_, units) in spent(limits).items():
            charged[index] = charged.get(index, 0) + units
        assert charged == units_by_index(answer["ConsumedCapacity"]), number
