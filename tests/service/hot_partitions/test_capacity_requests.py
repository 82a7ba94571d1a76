"""The capacity requests of a call are what DynamoDB consumes, and what the gate charges."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfence.app.domain_loading import load_domains
from keyfence.auth.principal import Role
from keyfence.domains.users.access_patterns import users
from keyfence.domains.users.model import User, UserId
from keyfence.hot_partitions.capacity_requests import (
    capacity_requests,
    projected_attributes,
    throttled_positions,
    unprocessed_positions,
)
from keyfence.store.dynamodb.error_codes import DynamoDbError
from keyfence.store.dynamodb.table_definition import table_definition
from keyfence.store.expressions import UpdateExpression, present
from keyfence.store.shards import UNSHARDED
from keyfence.store.writes import Write, check, delete, put, update_attributes, update_model
from keyfence_iam.dynamodb.item_costs import ItemKey
from keyfence_iam.dynamodb.item_costs import ItemWrite as Charged
from keyfence_iam.dynamodb.table_schema import TableSchema
from tests.fakes.fences import tenant_fence

NAME = "keyfence"
PROJECTIONS = load_domains().entities.projections
FENCE = tenant_fence("acme")
PROJECTED = projected_attributes(PROJECTIONS)
LAYOUT = TableSchema.from_description(table_definition(NAME, PROJECTIONS))
NOW = datetime(2026, 11, 16, tzinfo=UTC)
ANN = User(id=UserId("usr_1"), email="ann@x.example", name="Ann", role=Role.OWNER, created_at=NOW, updated_at=NOW)
TABLE = "TENANT#acme#USER#usr_1"
EMAIL, LIST = ("GSI1", f"{FENCE.index_prefix}EMAIL#ann@x.example"), ("GSI2", f"{FENCE.index_prefix}USERS#00")


def asked(*writes: Write[Any]) -> list[tuple[tuple[str, str, str, float, float], ...]]:
    call = {"TransactItems": [write.render(NAME, FENCE, UNSHARDED) for write in writes]}
    return [*capacity_requests("TransactWriteItems", call, 0.0, PROJECTED)]


def charged(item: dict[str, Any], factor: int) -> list[tuple[str, str, str, float, float]]:
    target = ItemKey(NAME, LAYOUT, LAYOUT.key_of(item))
    claims = Charged(target=target, kind="Put", item=item, unit_factor=factor).units(None)
    return [(NAME, claim.partition.index or "table", claim.partition.key, 0.0, claim.units) for claim in claims]


@given(st.integers(1, 6_000), st.sampled_from(["a", "é", "\\", "\n", "🙂"]), st.booleans())
def test_a_put_costs_each_of_its_partitions_what_the_gate_charges(length: int, letter: str, transacted: bool) -> None:
    item = users.to_item(replace(ANN, name=letter * length), FENCE, UNSHARDED)
    call = (
        {"TransactItems": [{"Put": {"TableName": NAME, "Item": item}}]}
        if transacted
        else {"RequestItems": {NAME: [{"PutRequest": {"Item": item}}]}}
    )
    (member,) = capacity_requests("TransactWriteItems" if transacted else "BatchWriteItem", call, 0.0, PROJECTED)
    assert sorted(member) == sorted(charged(item, 2 if transacted else 1))


@given(st.integers(1, 3_000))
def test_attributes_outside_the_projection_cost_an_index_nothing(length: int) -> None:
    item = users.to_item(ANN, FENCE, UNSHARDED) | {"settingNames": {"SS": ["x" * length]}}
    (member,) = capacity_requests(
        "TransactWriteItems", {"TransactItems": [{"Put": {"TableName": NAME, "Item": item}}]}, 0.0, PROJECTED
    )
    assert sorted(member) == sorted(charged(item, 2))
    assert {units for _, index, _, _, units in member if index != "table"} == {1.0}


def test_an_update_costs_the_item_and_the_index_partitions_that_it_moves_to() -> None:
    renamed = replace(ANN, email="bob@x.example", name="Bob", version=2)
    (member,) = asked(update_model(users, ANN, renamed))
    new_email = f"{FENCE.index_prefix}EMAIL#bob@x.example"
    assert member == ((NAME, "table", TABLE, 0.0, 2), (NAME, "GSI1", new_email, 0.0, 1.0))


def test_other_writes_of_a_transaction_cost_the_partition_of_their_item() -> None:
    key = {"id": "usr_1"}
    plain = update_attributes(users, key, UpdateExpression(sets={("role",): "OWNER"}))
    for write in (plain, delete(users, key), check(users, key, when=present(), on_failure=plain.on_failure)):
        assert asked(write) == [((NAME, "table", TABLE, 0.0, 2),)]


def test_reads_are_counted_for_the_partitions_that_they_name() -> None:
    key = {"PK": {"S": TABLE}, "SK": {"S": "PROFILE"}}
    here = ((NAME, "table", TABLE, 1.5, 0.0),)
    assert [*capacity_requests("GetItem", {"TableName": NAME, "Key": key}, 1.5)] == [here]
    assert [*capacity_requests("BatchGetItem", {"RequestItems": {NAME: {"Keys": [key, key]}}}, 1.5)] == [here, here]
    assert [
        *capacity_requests("TransactGetItems", {"TransactItems": [{"Get": {"TableName": NAME, "Key": key}}]}, 1.5)
    ] == [here]
    query = {"TableName": NAME, "IndexName": "GSI2", "ExpressionAttributeValues": {":p": {"S": LIST[1]}}}
    assert [*capacity_requests("Query", query, 1.5)] == [((NAME, *LIST, 1.5, 0.0),)]
    assert [
        *capacity_requests("Query", {"TableName": NAME, "ExpressionAttributeValues": {":p": {"S": TABLE}}}, 1.5)
    ] == [here]
    assert [*capacity_requests("Scan", {}, 1.5)] == []


def test_unprocessed_requests_of_a_batch_are_found_by_position() -> None:
    items = [users.to_item(replace(ANN, id=UserId(f"usr_{number}")), FENCE, UNSHARDED) for number in range(4)]
    requests = [{"PutRequest": {"Item": one}} for one in items[:3]]
    requests.append({"DeleteRequest": {"Key": {name: items[3][name] for name in ("PK", "SK")}}})
    call = {"RequestItems": {NAME: requests}}
    assert unprocessed_positions(call, {}) == ()
    assert unprocessed_positions(call, {"UnprocessedItems": {}}) == ()
    assert unprocessed_positions(call, {"UnprocessedItems": {NAME: [requests[3], requests[1]]}}) == [1, 3]
    keys = [{name: one[name] for name in ("PK", "SK")} for one in items]
    reads = {"RequestItems": {NAME: {"Keys": keys}}}
    assert unprocessed_positions(reads, {"UnprocessedKeys": {NAME: {"Keys": keys[2:3]}}}) == [2]


@pytest.mark.parametrize(
    ("reasons", "numbers"),
    [
        ((), [0, 1, 2]),
        (("None", "ProvisionedThroughputExceeded", "None"), [1]),
        (("ThrottlingError", "ConditionalCheckFailed", "TransactionConflict"), [0]),
    ],
)
def test_a_canceled_transaction_names_its_throttled_positions(reasons: tuple[str, ...], numbers: list[int]) -> None:
    assert [*throttled_positions(DynamoDbError("any", "", reasons), 3)] == numbers


def test_a_put_is_counted_in_the_table_and_the_indexes_of_its_entity() -> None:
    (member,) = asked(put(users, ANN))
    assert [(index, partition) for _, index, partition, _, _ in member] == [("table", TABLE), EMAIL, LIST]
