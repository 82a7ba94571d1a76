"""A scan does not end at an empty page, and deletes are repeated until no request is unprocessed."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from keyfence.errors import Forbidden, Throttled
from keyfence.store.dynamodb.caller import DynamoDbCaller
from keyfence.store.dynamodb.client import Answer
from keyfence.store.dynamodb.error_codes import DynamoDbError
from keyfence.store.job_writes import CONCURRENT_BATCHES, delete_items
from keyfence.store.scan import TableScan
from keyfence_iam.credentials import Credentials
from tests.fakes.fences import tenant_fence
from tests.fakes.scripted_dynamodb import RETRY_POLICY, TABLE_NAME, ScriptedDynamoDB, credentials, table

ACME = tenant_fence("acme")
EMPTY = {"Items": [], "Count": 0, "ScannedCount": 3}
KEY = {"PK": {"S": "TENANT#acme#A"}, "SK": {"S": "B"}}


def table_scan(client: ScriptedDynamoDB) -> TableScan:
    return TableScan(
        DynamoDbCaller(client=client, table=TABLE_NAME, credentials=credentials, retry_policy=RETRY_POLICY)
    )


async def test_a_page_without_items_is_not_the_end() -> None:
    page = await table_scan(ScriptedDynamoDB([{**EMPTY, "LastEvaluatedKey": KEY}])).page(
        fence=ACME, after=None, limit=3
    )
    assert (list(page.items), page.scanned_count, page.next_key) == ([], 3, KEY)


async def test_a_scan_of_the_table_is_consistent_and_checks_every_key() -> None:
    client = ScriptedDynamoDB([EMPTY])
    page = await table_scan(client).page(fence=ACME, after=KEY, limit=3)
    (call,) = client.calls
    assert page.next_key is None
    assert (call.operation, call.parameters["ConsistentRead"], call.parameters["Limit"]) == ("Scan", True, 3)
    assert call.parameters["ExclusiveStartKey"] == KEY
    assert set(call.parameters["ExpressionAttributeNames"].values()) == {"PK", "GSI1PK", "GSI2PK", "GSI3PK"}
    assert call.parameters["FilterExpression"].count(" OR ") == 3
    assert call.parameters["ExpressionAttributeValues"] == {":fence": {"S": "TENANT#acme#"}}


async def test_a_scan_of_an_index_checks_its_own_key_and_the_table_key() -> None:
    client = ScriptedDynamoDB([EMPTY])
    await table_scan(client).page(fence=ACME, index="gsi2", after=None, limit=3)
    (call,) = client.calls
    assert (call.parameters["IndexName"], "ConsistentRead" in call.parameters) == ("GSI2", False)
    assert set(call.parameters["ExpressionAttributeNames"].values()) == {"PK", "GSI2PK"}


async def test_a_scan_without_a_fence_has_no_filter() -> None:
    client = ScriptedDynamoDB([EMPTY])
    await table_scan(client).page(fence=None, after=None, limit=3)
    assert "FilterExpression" not in client.calls[0].parameters


@pytest.mark.parametrize(
    ("consumed", "units"), [({"CapacityUnits": 12.5}, 12.5), ({"CapacityUnits": 0.0}, 0.0), (None, 3.0)]
)
async def test_a_page_costs_the_consumed_units_or_else_one_for_each_item(consumed: object, units: float) -> None:
    page = await table_scan(ScriptedDynamoDB([{**EMPTY, "ConsumedCapacity": consumed}])).page(
        fence=ACME, after=None, limit=3
    )
    assert page.units == units


async def test_a_throttled_scan_is_retried_and_then_raises_throttled() -> None:
    throttled = DynamoDbError("ProvisionedThroughputExceededException", "slow down")
    client = ScriptedDynamoDB([throttled, EMPTY])
    await table_scan(client).page(fence=ACME, after=None, limit=3)
    assert len(client.calls) == 2
    with pytest.raises(Throttled):
        await table_scan(ScriptedDynamoDB([throttled] * 3)).page(fence=ACME, after=None, limit=3)


async def test_unprocessed_deletes_of_items_are_requested_again() -> None:
    keys = [{"PK": {"S": f"TENANT#acme#{number:02}"}, "SK": {"S": "A"}} for number in range(2)]
    unprocessed = {"UnprocessedItems": {TABLE_NAME: [{"DeleteRequest": {"Key": keys[1]}}]}}
    client = ScriptedDynamoDB([unprocessed, {"UnprocessedItems": {}}])
    assert await delete_items(table(client), keys) == 2
    assert client.calls[1].parameters["RequestItems"] == unprocessed["UnprocessedItems"]


async def test_sixty_keys_are_three_batches() -> None:
    client = ScriptedDynamoDB([{}, {}, {"ConsumedCapacity": [{"CapacityUnits": 250.0}]}])
    keys = [{"PK": {"S": f"TENANT#acme#{number:02}"}, "SK": {"S": "A"}} for number in range(60)]
    assert await delete_items(table(client), keys) == 250.0
    sent_keys = [
        request["DeleteRequest"]["Key"]
        for call in client.calls
        for request in call.parameters["RequestItems"][TABLE_NAME]
    ]
    assert sorted(key["PK"]["S"] for key in sent_keys) == [key["PK"]["S"] for key in keys]
    assert [len(call.parameters["RequestItems"][TABLE_NAME]) for call in client.calls] == [25, 25, 10]


@dataclass
class ConcurrencyRecorder:
    """Notes how many calls run at the same time, at most."""

    running: int = 0
    most: int = 0

    async def call(self, _operation: str, _parameters: Mapping[str, Any], _credentials: Credentials) -> Answer:
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(0)
        self.running -= 1
        return {}

    def close(self) -> None: ...


async def test_many_deletes_leave_room_for_the_calls_of_other_clients() -> None:
    client = ConcurrencyRecorder()
    keys = [{"PK": {"S": f"TENANT#acme#{number}"}, "SK": {"S": "A"}} for number in range(1000)]
    await delete_items(table(client), keys)
    assert client.most == CONCURRENT_BATCHES


async def test_deletes_that_run_at_the_same_time_return_only_their_own_units() -> None:
    handle = table(ScriptedDynamoDB([{"ConsumedCapacity": [{"CapacityUnits": 30.0}]}] * 2))
    units = await asyncio.gather(*(delete_items(handle, [KEY]) for _ in range(2)))
    assert units == [30.0, 30.0]


@pytest.mark.parametrize("foreign_partition", ["TENANT#acme0#A", "TENANT#acme", "CONTROL#TENANT#acme", "tenant#acme#A"])
async def test_one_key_outside_the_fence_prevents_all_deletes(foreign_partition: str) -> None:
    client = ScriptedDynamoDB([])
    with pytest.raises(Forbidden):
        await delete_items(table(client), [KEY, {"PK": {"S": foreign_partition}, "SK": {"S": "A"}}])
    assert client.calls == []
