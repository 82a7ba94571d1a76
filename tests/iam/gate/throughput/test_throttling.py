"""With limits: which calls reach the engine, and what is charged if one fails."""

import json
from typing import Any

from keyfence_iam.dynamodb.capacity import Partition, PartitionUnits
from keyfence_iam.gate.faults import Fault
from keyfence_iam.gate.throughput.partition_buckets import PartitionRates
from keyfence_iam.gate.throughput.partition_limits import PartitionLimits
from tests.fakes.clock import ManualClock
from tests.iam.gate.server.raw_client import GET, TABLE, gate_before, tenant, unfenced
from tests.iam.gate.server.scripted_engine import ScriptedEngine, response

KEY = {"PK": {"S": "TENANT#acme#A"}, "SK": {"S": "B"}}
READING = PartitionUnits(Partition("keyfence", None, "TENANT#acme#A"), "read", 0.5)
WRITING = READING._replace(kind="write", units=1)
LISTED = PartitionUnits(Partition("keyfence", "GSI1", "TENANT#acme#LIST"), "write", 1)


def put(**attributes: str) -> bytes:
    item = {**KEY, **{name: {"S": value} for name, value in attributes.items()}}
    return json.dumps({"TableName": "keyfence", "Item": item}).encode()


def operations(engine: ScriptedEngine) -> list[str]:
    heads = (head.lower().partition(b"x-amz-target: dynamodb_20120810.")[2] for head, _ in engine.requests)
    return [named for head in heads if (named := head.partition(b"\r\n")[0].decode()) != "describetable"]


def emptied(*claims: PartitionUnits) -> PartitionLimits:
    limits = PartitionLimits(now=ManualClock())
    limits.buckets.take(claim._replace(units=5000) for claim in claims)
    return limits


async def test_a_call_throttled_by_the_table_does_not_reach_the_engine() -> None:
    async with gate_before(limits=emptied(WRITING)) as (gate, engine):
        reply = await tenant(gate).call("PutItem", put())
    assert (reply.status, reply.error) == (400, "ProvisionedThroughputExceededException")
    assert operations(engine) == []


async def test_a_call_throttled_by_an_index_costs_the_engine_one_read() -> None:
    async with gate_before(limits=emptied(LISTED)) as (gate, engine):
        reply = await tenant(gate).call("PutItem", put(GSI1PK=LISTED.partition.key))
    assert reply.error == "ProvisionedThroughputExceededException"
    assert operations(engine) == ["batchgetitem"]


async def test_a_call_without_a_response_gives_its_units_back() -> None:
    limits = PartitionLimits(PartitionRates(read=1), now=ManualClock())
    async with gate_before(otherwise=None, limits=limits) as (gate, _):
        replies = [await tenant(gate).call("GetItem", GET) for _ in range(5)]
    assert {reply.status for reply in replies} == {500}
    assert limits.buckets.has_units(READING)


async def test_a_call_that_a_fault_ends_is_not_charged_and_one_whose_response_is_lost_is() -> None:
    limits = PartitionLimits(now=ManualClock())
    async with gate_before(limits=limits, faults=[Fault(kind="throttle")]) as (gate, _):
        await tenant(gate).call("GetItem", GET)
        assert limits.traffic_report()["partitions"] == []
        gate.faults = [Fault(kind="lost_response")]
        await tenant(gate).call("GetItem", GET)
        assert [one["read"] for one in limits.traffic_report()["partitions"]] == [0.05]


async def test_a_scan_is_charged_to_the_partitions_of_its_items_and_never_throttled() -> None:
    shown = [{"PK": {"S": f"TENANT#{name}#A"}, "d": {"S": "x" * size}} for name, size in (("a1", 6000), ("a2", 2000))]
    limits = emptied(READING)
    async with gate_before(otherwise=response(200, json.dumps({"Items": shown}).encode()), limits=limits) as (gate, _):
        reply = await unfenced(gate).call("Scan", b'{"TableName":"keyfence"}')
    assert reply.content == {"Items": shown}
    read_units = {one["key"]: one["read"] * 10 for one in limits.traffic_report()["partitions"]}
    assert read_units.keys() == {"TENANT#a1#A", "TENANT#a2#A"}
    assert round(sum(read_units.values()), 6) == 1
    assert 2.9 < read_units["TENANT#a1#A"] / read_units["TENANT#a2#A"] < 3.1


async def test_an_index_that_is_added_through_the_gate_is_charged_from_then_on() -> None:
    description: dict[str, Any] = {**TABLE, "GlobalSecondaryIndexes": []}
    limits = PartitionLimits(now=ManualClock())
    async with gate_before(description, limits=limits) as (gate, _):
        caller = unfenced(gate)
        await caller.call("PutItem", put(GSI1PK=LISTED.partition.key))
        assert [one["index"] for one in limits.traffic_report()["partitions"]] == [None]
        description["GlobalSecondaryIndexes"] = TABLE["GlobalSecondaryIndexes"]
        await caller.call("UpdateTable", b'{"TableName":"keyfence"}')
        await caller.call("PutItem", put(GSI1PK=LISTED.partition.key))
    assert {one["index"] for one in limits.traffic_report()["partitions"]} == {None, "GSI1"}


async def test_an_invalid_item_is_left_to_the_engine_to_reject() -> None:
    refusal = response(400, b'{"__type":"com.amazon.coral.validate#ValidationException"}')
    limits = PartitionLimits(now=ManualClock())
    strange = {"PK": {"S": "TENANT#acme#A"}, "SK": {"L": [{"X": 1}, 7]}, "d": {"N": 5}}
    body = json.dumps({"TableName": "keyfence", "Item": strange}).encode()
    async with gate_before(otherwise=refusal, limits=limits) as (gate, engine):
        reply = await tenant(gate).call("PutItem", body)
    assert (reply.status, reply.error) == (400, "ValidationException")
    assert operations(engine) == ["batchgetitem", "putitem"]
    assert limits.traffic_report()["partitions"] == []


async def test_a_scan_of_a_table_with_a_numeric_partition_key_is_forwarded_without_a_limit() -> None:
    numeric = {**TABLE, "AttributeDefinitions": [{"AttributeName": "PK", "AttributeType": "N"}]}
    answer = response(200, b'{"Items":[]}')
    async with gate_before(numeric, otherwise=answer, limits=PartitionLimits(now=ManualClock())) as (gate, _):
        reply = await unfenced(gate).call("Scan", b'{"TableName":"keyfence"}')
    assert (reply.status, reply.content) == (200, {"Items": []})
