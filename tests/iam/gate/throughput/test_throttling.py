"""A throttled call does not reach the engine, and a failed call is not charged."""

import json
from typing import Any

from keyfence_iam.dynamodb.capacity import Partition, PartitionUnits
from keyfence_iam.gate.fault_definition import Fault
from keyfence_iam.gate.throughput.partition_limits import PartitionLimits
from keyfence_iam.gate.throughput.partition_rates import PartitionRates
from tests.fakes.clock import ManualClock
from tests.iam.gate.server.raw_client import GET_ITEM, TABLE, admin_caller, gate_with_engine, tenant_caller
from tests.iam.gate.server.scripted_engine import ScriptedEngine, response

KEY = {"PK": {"S": "TENANT#acme#A"}, "SK": {"S": "B"}}
READ_UNITS = PartitionUnits(Partition("keyfence", None, "TENANT#acme#A"), "read", 0.5)
WRITE_UNITS = READ_UNITS._replace(kind="write", units=1)
INDEX_WRITE_UNITS = PartitionUnits(Partition("keyfence", "GSI1", "TENANT#acme#LIST"), "write", 1)


def put(**attributes: str) -> bytes:
    item = {**KEY, **{name: {"S": value} for name, value in attributes.items()}}
    return json.dumps({"TableName": "keyfence", "Item": item}).encode()


def operations(engine: ScriptedEngine) -> list[str]:
    """Returns the operations that reached the engine, in lower case and without DescribeTable."""
    heads = (head.lower().partition(b"x-amz-target: dynamodb_20120810.")[2] for head, _ in engine.requests)
    return [name for head in heads if (name := head.partition(b"\r\n")[0].decode()) != "describetable"]


def exhausted_limits(*exhausted: PartitionUnits) -> PartitionLimits:
    """Returns limits under which these partitions have no units left."""
    limits = PartitionLimits(now=ManualClock())
    limits.buckets.take(units._replace(units=5000) for units in exhausted)
    return limits


async def test_a_call_throttled_by_the_table_does_not_reach_the_engine() -> None:
    async with gate_with_engine(limits=exhausted_limits(WRITE_UNITS)) as (gate, engine):
        reply = await tenant_caller(gate).call("PutItem", put())
    assert (reply.status, reply.error) == (400, "ProvisionedThroughputExceededException")
    assert operations(engine) == []


async def test_a_call_throttled_by_an_index_costs_the_engine_one_read() -> None:
    async with gate_with_engine(limits=exhausted_limits(INDEX_WRITE_UNITS)) as (gate, engine):
        reply = await tenant_caller(gate).call("PutItem", put(GSI1PK=INDEX_WRITE_UNITS.partition.key))
    assert reply.error == "ProvisionedThroughputExceededException"
    assert operations(engine) == ["batchgetitem"]


async def test_a_call_without_a_response_gives_its_units_back() -> None:
    limits = PartitionLimits(PartitionRates(read=1), now=ManualClock())
    async with gate_with_engine(other_response=None, limits=limits) as (gate, _):
        replies = [await tenant_caller(gate).call("GetItem", GET_ITEM) for _ in range(5)]
    assert {reply.status for reply in replies} == {500}
    assert limits.buckets.has_units(READ_UNITS)


async def test_a_call_with_an_injected_error_is_not_charged_and_a_call_with_a_lost_response_is() -> None:
    limits = PartitionLimits(now=ManualClock())
    async with gate_with_engine(limits=limits, faults=[Fault(kind="throttle")]) as (gate, _):
        await tenant_caller(gate).call("GetItem", GET_ITEM)
        assert limits.traffic_report()["partitions"] == []
        gate.faults = [Fault(kind="lost_response")]
        await tenant_caller(gate).call("GetItem", GET_ITEM)
        assert [partition["read"] for partition in limits.traffic_report()["partitions"]] == [0.05]


async def test_a_scan_is_charged_to_the_partitions_of_its_items_and_never_throttled() -> None:
    items = [{"PK": {"S": f"TENANT#{name}#A"}, "d": {"S": "x" * size}} for name, size in (("a1", 6000), ("a2", 2000))]
    limits = exhausted_limits(READ_UNITS)
    async with gate_with_engine(other_response=response(200, json.dumps({"Items": items}).encode()), limits=limits) as (
        gate,
        _,
    ):
        reply = await admin_caller(gate).call("Scan", b'{"TableName":"keyfence"}')
    assert reply.content == {"Items": items}
    read_units = {partition["key"]: partition["read"] * 10 for partition in limits.traffic_report()["partitions"]}
    assert read_units.keys() == {"TENANT#a1#A", "TENANT#a2#A"}
    assert round(sum(read_units.values()), 6) == 1
    assert 2.9 < read_units["TENANT#a1#A"] / read_units["TENANT#a2#A"] < 3.1


async def test_an_index_is_charged_as_soon_as_it_is_added_through_the_gate() -> None:
    description: dict[str, Any] = {**TABLE, "GlobalSecondaryIndexes": []}
    limits = PartitionLimits(now=ManualClock())
    async with gate_with_engine(description, limits=limits) as (gate, _):
        caller = admin_caller(gate)
        await caller.call("PutItem", put(GSI1PK=INDEX_WRITE_UNITS.partition.key))
        assert [partition["index"] for partition in limits.traffic_report()["partitions"]] == [None]
        description["GlobalSecondaryIndexes"] = TABLE["GlobalSecondaryIndexes"]
        await caller.call("UpdateTable", b'{"TableName":"keyfence"}')
        await caller.call("PutItem", put(GSI1PK=INDEX_WRITE_UNITS.partition.key))
    assert {partition["index"] for partition in limits.traffic_report()["partitions"]} == {None, "GSI1"}


async def test_an_invalid_item_is_forwarded_and_rejected_by_the_engine() -> None:
    rejection = response(400, b'{"__type":"com.amazon.coral.validate#ValidationException"}')
    limits = PartitionLimits(now=ManualClock())
    invalid_item = {"PK": {"S": "TENANT#acme#A"}, "SK": {"L": [{"X": 1}, 7]}, "d": {"N": 5}}
    body = json.dumps({"TableName": "keyfence", "Item": invalid_item}).encode()
    async with gate_with_engine(other_response=rejection, limits=limits) as (gate, engine):
        reply = await tenant_caller(gate).call("PutItem", body)
    assert (reply.status, reply.error) == (400, "ValidationException")
    assert operations(engine) == ["batchgetitem", "putitem"]
    assert limits.traffic_report()["partitions"] == []


async def test_a_scan_of_a_table_with_a_numeric_partition_key_is_forwarded_without_a_limit() -> None:
    description = {**TABLE, "AttributeDefinitions": [{"AttributeName": "PK", "AttributeType": "N"}]}
    answer = response(200, b'{"Items":[]}')
    async with gate_with_engine(description, other_response=answer, limits=PartitionLimits(now=ManualClock())) as (
        gate,
        _,
    ):
        reply = await admin_caller(gate).call("Scan", b'{"TableName":"keyfence"}')
    assert (reply.status, reply.content) == (200, {"Items": []})
