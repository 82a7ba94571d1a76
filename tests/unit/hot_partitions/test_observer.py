"""Every call is seen once for what it asks, and every time that it is turned away."""

from collections.abc import Mapping
from typing import Any

import pytest

from keyfence.hot_partitions.observer import PartitionObserver
from keyfence.hot_partitions.partition_load import Partition
from keyfence.store.dynamodb.caller import DynamoDbCaller, ObservedCall
from keyfence.store.dynamodb.client import Answer
from keyfence.store.dynamodb.errors import DynamoDbError
from keyfence.store.tenant_location import TenantLocation
from keyfence_iam.dynamodb.traffic_window import TrafficCounts, TrafficWindow
from keyfence_iam.tenant import TenantId
from tests.fakes.clock import ManualClock
from tests.fakes.scripted_dynamodb import NAME, RETRY_POLICY, ScriptedDynamoDB, credentials
from tests.unit.hot_partitions.sample_partitions import ACME, START, open_orders

BUSY = DynamoDbError("ProvisionedThroughputExceededException", "")
CUSTOMER = Partition(ACME, "table", "TENANT#acme#CUST#cus_1", NAME)
OPEN = open_orders()._replace(table=NAME)


def order() -> dict[str, Any]:
    """An order's row: in its customer's partition and in the list of open orders."""
    return {
        "PK": {"S": CUSTOMER.key},
        "SK": {"S": "ORDER#1"},
        "GSI2PK": {"S": open_orders().key},
        "GSI2SK": {"S": "1"},
    }


PLACING = {"TransactItems": [{"Put": {"TableName": NAME, "Item": order()}}]}
LIST = {"TableName": NAME, "IndexName": "GSI2", "ExpressionAttributeValues": {":p": {"S": open_orders().key}}}


def away(*reasons: str) -> DynamoDbError:
    return DynamoDbError("TransactionCanceledException", "", reasons or ("ProvisionedThroughputExceeded",))


def seen(traffic: PartitionObserver, place: Partition) -> TrafficCounts:
    (found,) = traffic.window.steps(place).values() or (TrafficCounts(),)
    return found


async def called(
    traffic: PartitionObserver, operation: str, call: Mapping[str, Any], *answers: Answer | DynamoDbError
) -> None:
    caller = DynamoDbCaller(
        client=ScriptedDynamoDB([*answers]),
        table=NAME,
        credentials=credentials,
        retry_policy=RETRY_POLICY,
        location=TenantLocation(tenant=ACME),
        observer=traffic,
    )
    await caller.call(operation, call)


@pytest.fixture
def traffic() -> PartitionObserver:
    return PartitionObserver(TrafficWindow(ManualClock(START)))


async def test_a_page_is_its_partitions_units(traffic: PartitionObserver) -> None:
    for units in (0.5, 4.0):
        await called(traffic, "Query", LIST, {"Items": [], "ConsumedCapacity": {"CapacityUnits": units}})
    assert seen(traffic, OPEN) == TrafficCounts(4.5, 0.0, 2, 0)


async def test_a_call_that_is_turned_away_asks_once_however_often_it_is_tried(traffic: PartitionObserver) -> None:
    await called(traffic, "TransactWriteItems", PLACING, away(), away(), {})
    assert seen(traffic, CUSTOMER).write == 2.0
    assert seen(traffic, OPEN).write == 1.0
    assert seen(traffic, CUSTOMER).throttled + seen(traffic, OPEN).throttled == 2


async def test_a_call_that_is_lost_on_the_way_asks_when_it_arrives(traffic: PartitionObserver) -> None:
    await called(traffic, "TransactWriteItems", PLACING, DynamoDbError("ConnectionLost", ""), {})
    assert (seen(traffic, CUSTOMER).write, seen(traffic, CUSTOMER).throttled) == (2.0, 0)


async def test_what_is_turned_away_for_good_was_asked_for_all_the_same(traffic: PartitionObserver) -> None:
    with pytest.raises(DynamoDbError):
        await called(traffic, "TransactWriteItems", PLACING, *[away()] * RETRY_POLICY.attempts)
    assert seen(traffic, OPEN).write == 1.0


async def test_the_busiest_of_an_items_partitions_is_blamed_also_when_a_step_has_just_begun(
    traffic: PartitionObserver,
) -> None:
    clock = traffic.window.clock
    assert isinstance(clock, ManualClock)
    for number in range(9):
        call = {
            "TransactItems": [
                {"Put": {"TableName": NAME, "Item": order() | {"PK": {"S": f"TENANT#acme#CUST#cus_{number}"}}}}
            ]
        }
        await called(traffic, "TransactWriteItems", call, {})
    clock.now += 10
    await called(traffic, "TransactWriteItems", PLACING, away(), {})
    assert [one.throttled for one in traffic.window.steps(OPEN).values()] == [0, 1]
    assert [one.throttled for one in traffic.window.steps(CUSTOMER).values()] == [0, 0]


async def test_a_condition_that_does_not_hold_is_asked_for_and_not_throttled(traffic: PartitionObserver) -> None:
    with pytest.raises(DynamoDbError):
        await called(traffic, "TransactWriteItems", PLACING, away("ConditionalCheckFailed"))
    assert seen(traffic, CUSTOMER) == TrafficCounts(0.0, 2.0)


@pytest.mark.parametrize("code", ["AccessDeniedException", "ValidationException", "InternalServerError"])
async def test_what_never_reached_a_partition_asks_nothing_of_it(traffic: PartitionObserver, code: str) -> None:
    with pytest.raises(DynamoDbError):
        await called(traffic, "TransactWriteItems", PLACING, *[DynamoDbError(code, "")] * RETRY_POLICY.attempts)
    assert len(traffic.window.current) == 0


async def test_a_page_in_vain_counts_as_much_as_those_that_were_given(traffic: PartitionObserver) -> None:
    await called(traffic, "Query", LIST, {"Items": [], "ConsumedCapacity": {"CapacityUnits": 6.0}})
    with pytest.raises(DynamoDbError):
        await called(traffic, "Query", LIST, *[BUSY] * RETRY_POLICY.attempts)
    assert seen(traffic, OPEN) == TrafficCounts(12.0, 0.0, 2, RETRY_POLICY.attempts)


async def test_keys_of_a_batch_share_its_units_and_those_left_over_are_turned_away(traffic: PartitionObserver) -> None:
    places = [Partition(ACME, "table", f"TENANT#acme#CUST#cus_{number}", NAME) for number in range(3)]
    keys = [{"PK": {"S": one.key}, "SK": {"S": "PROFILE"}} for one in places]
    left = {"UnprocessedKeys": {NAME: {"Keys": keys[2:]}}, "ConsumedCapacity": [{"CapacityUnits": 3.0}]}
    await called(traffic, "BatchGetItem", {"RequestItems": {NAME: {"Keys": keys}}}, left)
    assert [seen(traffic, one) for one in places] == [
        TrafficCounts(1.5, 0.0, 1),
        TrafficCounts(1.5, 0.0, 1),
        TrafficCounts(1.5, 0.0, 1, 1),
    ]


def test_what_belongs_to_no_tenant_is_the_services_own(traffic: PartitionObserver) -> None:
    key = {"PK": {"S": "CONTROL#TENANT#acme"}, "SK": {"S": "METADATA"}}
    traffic.on_answer(
        ObservedCall(None, "GetItem", {"TableName": NAME, "Key": key}), {"ConsumedCapacity": {"CapacityUnits": 1.0}}
    )
    assert seen(traffic, Partition(TenantId("-"), "table", "CONTROL#TENANT#acme", NAME)) == TrafficCounts(1.0, 0.0, 1)


def test_a_call_that_nobody_understands_does_no_harm(traffic: PartitionObserver) -> None:
    traffic.on_answer(ObservedCall(ACME, "Query", {"ExpressionAttributeValues": 7}), {})
    traffic.on_error(ObservedCall(ACME, "GetItem", {}), BUSY)
    assert len(traffic.window.current) == 0


async def test_what_is_written_to_both_tables_of_a_move_is_asked_of_each_once(traffic: PartitionObserver) -> None:
    both = [{"Put": {"TableName": table, "Item": order()}} for table in (NAME, "silo")]
    await called(traffic, "TransactWriteItems", {"TransactItems": both}, {})
    assert [seen(traffic, OPEN._replace(table=table)).write for table in (NAME, "silo")] == [1.0, 1.0]
