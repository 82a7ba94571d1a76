"""The units of a write depend on how it changes the entries of each index."""

from typing import Any

import pytest

from keyfence_iam.dynamodb.attributes import attribute_changes
from keyfence_iam.dynamodb.capacity import Partition
from keyfence_iam.dynamodb.item_costs import ItemKey, ItemWrite
from keyfence_iam.dynamodb.table_schema import TableSchema


def key_schema(*names: str) -> list[dict[str, str]]:
    return [{"AttributeName": name, "KeyType": kind} for name, kind in zip(names, ("HASH", "RANGE"), strict=False)]


TABLE = TableSchema.from_description(
    {
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("PK", "SK", *"AKSIL")],
        "KeySchema": key_schema("PK", "SK")[::-1],
        "GlobalSecondaryIndexes": [
            {"IndexName": "ALL", "KeySchema": key_schema("A"), "Projection": {"ProjectionType": "ALL"}},
            {"IndexName": "KEYS", "KeySchema": key_schema("K", "S"), "Projection": {"ProjectionType": "KEYS_ONLY"}},
            {
                "IndexName": "SOME",
                "KeySchema": key_schema("I"),
                "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["name"]},
            },
        ],
        "LocalSecondaryIndexes": [
            {"IndexName": "LOCAL", "KeySchema": key_schema("PK", "L"), "Projection": {"ProjectionType": "KEYS_ONLY"}}
        ],
    }
)
KEY = {"PK": {"S": "p"}, "SK": {"S": "s"}}


def item(**values: str) -> dict[str, Any]:
    return {**KEY, **{name: {"S": value} for name, value in values.items()}}


def units_by_partition(write: ItemWrite, stored_item: dict[str, Any] | None) -> dict[tuple[str | None, str], float]:
    units_so_far: dict[tuple[str | None, str], float] = {}
    for partition, kind, units in write.units(stored_item):
        assert kind == "write"
        units_so_far[partition.index, partition.key] = units_so_far.get((partition.index, partition.key), 0) + units
    return units_so_far


def put(**values: str) -> ItemWrite:
    return ItemWrite(target=ItemKey("t", TABLE, KEY), kind="Put", item=item(**values))


def update(expression: str, **values: Any) -> ItemWrite:
    call = {
        "UpdateExpression": expression,
        "ExpressionAttributeValues": {f":{name}": one for name, one in values.items()},
    }
    return ItemWrite(target=ItemKey("t", TABLE, KEY), kind="Update", changes=tuple(attribute_changes(call)))


DELETE = ItemWrite(target=ItemKey("t", TABLE, KEY), kind="Delete")
CHECK = ItemWrite(target=ItemKey("t", TABLE, KEY), kind="ConditionCheck", unit_factor=2)


@pytest.mark.parametrize(
    ("write", "stored_item", "expected"),
    [
        (put(d="x"), None, {(None, "p"): 1}),
        (put(K="k"), None, {(None, "p"): 1}),
        (put(K="k", S="s"), None, {(None, "p"): 1, ("KEYS", "k"): 1}),
        (put(K="k", S="s", d="x" * 5000), None, {(None, "p"): 5, ("KEYS", "k"): 1}),
        (put(A="a", d="x" * 5000), None, {(None, "p"): 5, ("ALL", "a"): 5}),
        (put(A="a"), item(A="a"), {(None, "p"): 1}),
        (put(A="a", d="x"), item(A="a"), {(None, "p"): 1, ("ALL", "a"): 1}),
        (put(A="a"), item(A="a", d="x" * 5000), {(None, "p"): 5, ("ALL", "a"): 5}),
        (put(A="b"), item(A="a", d="x" * 5000), {(None, "p"): 5, ("ALL", "a"): 5, ("ALL", "b"): 1}),
        (put(K="k", S="t"), item(K="k", S="s"), {(None, "p"): 1, ("KEYS", "k"): 2}),
        (put(I="i", d="y"), item(I="i", d="x"), {(None, "p"): 1}),
        (put(I="i", name="y"), item(I="i", name="x"), {(None, "p"): 1, ("SOME", "i"): 1}),
        (put(), item(I="i", name="x" * 3000), {(None, "p"): 3, ("SOME", "i"): 3}),
        (put(L="l"), None, {(None, "p"): 2}),
        (DELETE, item(A="a", L="l"), {(None, "p"): 2, ("ALL", "a"): 1}),
        (DELETE, None, {(None, "p"): 1}),
        (CHECK, item(A="a", d="x" * 5000), {(None, "p"): 10}),
        (CHECK, None, {(None, "p"): 2}),
        (update("SET d = :d", d={"S": "x" * 2000}), None, {(None, "p"): 2}),
        (update("SET d = :d", d={"S": "x"}), item(I="i"), {(None, "p"): 1}),
        (
            update("SET I = :i", i={"S": "j"}),
            item(I="i", name="n"),
            {(None, "p"): 1, ("SOME", "i"): 1, ("SOME", "j"): 1},
        ),
        (update("REMOVE I"), item(I="i"), {(None, "p"): 1, ("SOME", "i"): 1}),
        (update("REMOVE name"), item(I="i"), {(None, "p"): 1}),
        (update("REMOVE name.x"), item(I="i", name="n"), {(None, "p"): 1, ("SOME", "i"): 1}),
        (update("ADD name :n", n={"N": "1"}), item(I="i"), {(None, "p"): 1, ("SOME", "i"): 1}),
    ],
    ids=lambda value: None,
)
def test_a_write_uses_these_units_in_each_partition(
    write: ItemWrite, stored_item: dict[str, Any] | None, expected: dict[Any, float]
) -> None:
    assert units_by_partition(write, stored_item) == expected


def test_a_failed_condition_costs_as_much_as_the_stored_item() -> None:
    assert put(A="a", d="x" * 9000).failed_condition_units(item(d="x" * 2000)) == (
        (Partition("t", None, "p"), "write", 2),
    )
    assert put(A="a", d="x" * 9000).failed_condition_units(None) == ((Partition("t", None, "p"), "write", 1),)


@pytest.mark.parametrize(
    ("expression", "uncertain"),
    [("SET a = :a", False), ("REMOVE a", False), ("SET a = a + :a", True), ("ADD a :a", True), ("DELETE a :a", True)],
)
def test_an_update_has_unknown_values_if_only_the_engine_knows_them(expression: str, uncertain: bool) -> None:
    assert update(expression, a={"N": "1"}).has_unknown_values == uncertain


def test_a_legacy_update_yields_its_attribute_changes() -> None:
    call = {
        "AttributeUpdates": {
            "a": {"Value": {"S": "x"}},
            "b": {"Action": "DELETE"},
            "c": {"Action": "DELETE", "Value": {"SS": ["x"]}},
            "d": {"Action": "ADD", "Value": {"N": "1"}},
        }
    }
    assert {change.attribute: change.value for change in attribute_changes(call)} == {
        "a": {"S": "x"},
        "b": None,
        "c": ...,
        "d": ...,
    }
