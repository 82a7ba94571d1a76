"""The units of a call are counted once, and every throttled attempt is counted."""

from collections.abc import Mapping
from typing import Any

import pytest

from keyfence.hot_partitions.partition_load import TenantPartition
from keyfence.hot_partitions.traffic_observer import TrafficObserver
from keyfence.store.dynamodb.caller import DynamoDbCaller, ObservedCall
from keyfence.store.dynamodb.client import Answer
from keyfence.store.dynamodb.error_codes import DynamoDbError
from keyfence.store.tenant_location import TenantLocation
from keyfence_iam.dynamodb.traffic_window import TrafficCounts, TrafficWindow
from keyfence_iam.tenant import TenantId
from tests.fakes.clock import ManualClock
from tests.fakes.scripted_dynamodb import RETRY_POLICY, TABLE_NAME, ScriptedDynamoDB, credentials
from tests.service.hot_partitions.sample_partitions import ACME, START, open_orders

BUSY = DynamoDbError("ProvisionedThroughputExceededException", "")
CUSTOMER = TenantPartition(ACME, "table", "TENANT#acme#CUST#cus_1", TABLE_NAME)
OPEN = open_orders()._replace(table=TABLE_NAME)


def order() -> dict[str, Any]:
    """Returns the item of an order, which is in its customer's partition and in the list of open orders."""
    return {
        "PK": {"S": CUSTOMER.key},
        "SK": {"S": "ORDER#1"},
        "GSI2PK": {"S": open_orders().key},
        "GSI2SK": {"S": "1"},
    }


PLACING = {"TransactItems": [{"Put": {"TableName": TABLE_NAME, "Item": order()}}]}
LIST = {"TableName": TABLE_NAME, "IndexName": "GSI2", "ExpressionAttributeValues": {":p": {"S": open_orders().key}}}


def canceled(*reasons: str) -> DynamoDbError:
    return DynamoDbError("TransactionCanceledException", "", reasons or ("ProvisionedThroughputExceeded",))


def seen(traffic: TrafficObserver, partition: TenantPartition) -> TrafficCounts:
    (found,) = traffic.window.counts_by_step(partition).values() or (TrafficCounts(),)
    return found


async def called(
    traffic: TrafficObserver, operation: str, call: Mapping[str, Any], *answers: Answer | DynamoDbError
) -> None:
    caller = DynamoDbCaller(
        client=ScriptedDynamoDB([*answers]),
        table=TABLE_NAME,
        credentials=credentials,
        retry_policy=RETRY_POLICY,
        location=TenantLocation(tenant=ACME),
        observer=traffic,
    )
    await caller.call(operation, call)


@pytest.fixture
def traffic() -> TrafficObserver:
    return TrafficObserver(TrafficWindow(ManualClock(START)))


async def test_the_units_of_a_page_are_counted_for_its_partition(traffic: TrafficObserver) -> None:
    for units in (0.5, 4.0):
        await called(traffic, "Query", LIST, {"Items": [], "ConsumedCapacity": {"CapacityUnits": units}})
    assert seen(traffic, OPEN) == TrafficCounts(4.5, 0.0, 2, 0)


async def test_a_throttled_call_is_counted_once_however_often_it_is_retried(traffic: TrafficObserver) -> None:
    await called(traffic, "TransactWriteItems", PLACING, canceled(), canceled(), {})
    assert seen(traffic, CUSTOMER).write_units == 2.0
    assert seen(traffic, OPEN).write_units == 1.0
    assert seen(traffic, CUSTOMER).throttled + seen(traffic, OPEN).throttled == 2


async def test_a_lost_call_is_counted_when_a_retry_arrives(traffic: TrafficObserver) -> None:
    await called(traffic, "TransactWriteItems", PLACING, DynamoDbError("ConnectionLost", ""), {})
    assert (seen(traffic, CUSTOMER).write_units, seen(traffic, CUSTOMER).throttled) == (2.0, 0)


async def test_a_call_that_is_throttled_at_every_retry_is_counted(traffic: TrafficObserver) -> None:
    with pytest.raises(DynamoDbError):
        await called(traffic, "TransactWriteItems", PLACING, *[canceled()] * RETRY_POLICY.attempts)
    assert seen(traffic, OPEN).write_units == 1.0


async def test_the_busiest_partition_of_an_item_counts_as_throttled_also_in_a_new_step(
    traffic: TrafficObserver,
) -> None:
    clock = traffic.window.clock
    assert isinstance(clock, ManualClock)
    for number in range(9):
        call = {
            "TransactItems": [
                {"Put": {"TableName": TABLE_NAME, "Item": order() | {"PK": {"S": f"TENANT#acme#CUST#cus_{number}"}}}}
            ]
        }
        await called(traffic, "TransactWriteItems", call, {})
    clock.now += 10
    await called(traffic, "TransactWriteItems", PLACING, canceled(), {})
    assert [one.throttled for one in traffic.window.counts_by_step(OPEN).values()] == [0, 1]
    assert [one.throttled for one in traffic.window.counts_by_step(CUSTOMER).values()] == [0, 0]


async def test_a_failed_condition_is_counted_and_is_not_throttled(traffic: TrafficObserver) -> None:
    with pytest.raises(DynamoDbError):
        await called(traffic, "TransactWriteItems", PLACING, canceled("ConditionalCheckFailed"))
    assert seen(traffic, CUSTOMER) == TrafficCounts(0.0, 2.0)


@pytest.mark.parametrize("code", ["AccessDeniedException", "ValidationException", "InternalServerError"])
async def test_a_call_that_reached_no_partition_is_not_counted(traffic: TrafficObserver, code: str) -> None:
    with pytest.raises(DynamoDbError):
        await called(traffic, "TransactWriteItems", PLACING, *[DynamoDbError(code, "")] * RETRY_POLICY.attempts)
    assert len(traffic.window.current_sketch) == 0


async def test_a_throttled_page_counts_as_much_as_the_successful_ones(traffic: TrafficObserver) -> None:
    await called(traffic, "Query", LIST, {"Items": [], "ConsumedCapacity": {"CapacityUnits": 6.0}})
    with pytest.raises(DynamoDbError):
        await called(traffic, "Query", LIST, *[BUSY] * RETRY_POLICY.attempts)
    assert seen(traffic, OPEN) == TrafficCounts(12.0, 0.0, 2, RETRY_POLICY.attempts)


async def test_the_keys_of_a_batch_share_its_units_and_unprocessed_keys_are_throttled(
    traffic: TrafficObserver,
) -> None:
    partitions = [TenantPartition(ACME, "table", f"TENANT#acme#CUST#cus_{number}", TABLE_NAME) for number in range(3)]
    keys = [{"PK": {"S": one.key}, "SK": {"S": "PROFILE"}} for one in partitions]
    left = {"UnprocessedKeys": {TABLE_NAME: {"Keys": keys[2:]}}, "ConsumedCapacity": [{"CapacityUnits": 3.0}]}
    await called(traffic, "BatchGetItem", {"RequestItems": {TABLE_NAME: {"Keys": keys}}}, left)
    assert [seen(traffic, one) for one in partitions] == [
        TrafficCounts(1.5, 0.0, 1),
        TrafficCounts(1.5, 0.0, 1),
        TrafficCounts(1.5, 0.0, 1, 1),
    ]


def test_calls_of_the_control_plane_are_counted_for_the_service_itself(traffic: TrafficObserver) -> None:
    key = {"PK": {"S": "CONTROL#TENANT#acme"}, "SK": {"S": "METADATA"}}
    traffic.on_answer(
        ObservedCall(None, "GetItem", {"TableName": TABLE_NAME, "Key": key}),
        {"ConsumedCapacity": {"CapacityUnits": 1.0}},
    )
    assert seen(traffic, TenantPartition(TenantId("-"), "table", "CONTROL#TENANT#acme", TABLE_NAME)) == TrafficCounts(
        1.0, 0.0, 1
    )


def test_a_call_that_cannot_be_read_raises_nothing(traffic: TrafficObserver) -> None:
    traffic.on_answer(ObservedCall(ACME, "Query", {"ExpressionAttributeValues": 7}), {})
    traffic.on_error(ObservedCall(ACME, "GetItem", {}), BUSY)
    assert len(traffic.window.current_sketch) == 0


async def test_a_dual_write_is_counted_once_for_each_table(traffic: TrafficObserver) -> None:
    both = [{"Put": {"TableName": table, "Item": order()}} for table in (TABLE_NAME, "silo")]
    await called(traffic, "TransactWriteItems", {"TransactItems": both}, {})
    assert [seen(traffic, OPEN._replace(table=table)).write_units for table in (TABLE_NAME, "silo")] == [1.0, 1.0]
