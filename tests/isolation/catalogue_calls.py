"""The DynamoDB calls of all access patterns and of all entities, with a key in any partition."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from keyfence.app.domain_loading import load_domains
from keyfence.domain import NamedPattern
from keyfence.store.codec import Item
from keyfence.store.entity import Entity, Index, Query, key_names
from keyfence.store.key_template import KeyField
from keyfence.store.keys import Fence, Key
from keyfence.store.shards import UNSHARDED

EXAMPLE_BY_NAME_ENDING: Mapping[str, object] = {
    "_at": datetime(2026, 11, 5, tzinfo=UTC),
    "email": "ann@acme.example",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A DynamoDB call. `parameters` returns its parameters for a table and for the fence that its key is inside.

    `writes` says whether the call needs a session that may write."""

    name: str
    operation: str
    realm: str
    writes: bool
    parameters: Callable[[str, Fence], Mapping[str, Any]]

    def __str__(self) -> str:
        return self.name


def calls() -> Iterator[Call]:
    """Yields the reads of every access pattern and the writes of every entity in the catalogue."""
    for pattern in load_domains().patterns:
        yield from _reads(pattern)
    for entity in load_domains().entities:
        yield from _writes(entity)


def one_call_of_each_kind() -> Iterator[Call]:
    """Yields one call for each operation, index and realm. The calls that are left out differ only in the entity."""
    yielded_kinds = set()
    for call in calls():
        index = call.parameters("t", Fence("tenant", "X#")).get("IndexName")
        kind = (call.name.partition(": ")[2], index, call.realm)
        if kind not in yielded_kinds:
            yielded_kinds.add(kind)
            yield call


def _reads(named_pattern: NamedPattern) -> Iterator[Call]:
    entity = named_pattern.read.entity
    if isinstance(named_pattern.read, Query):
        yield _call(entity, f"{named_pattern}: Query", "Query", _query(named_pattern.read))
        return
    for operation, parameters in _GET_OPERATIONS.items():
        yield _call(entity, f"{named_pattern}: {operation}", operation, _with_key_inside(entity, parameters))


def _writes(entity: Entity[Any]) -> Iterator[Call]:
    for name, parameters in _WRITE_OPERATIONS.items():
        operation = name.partition(" ")[0]
        yield _call(entity, f"{entity.type}: {name}", operation, _with_key_inside(entity, parameters), writes=True)


def _call(
    entity: Entity[Any],
    name: str,
    operation: str,
    parameters: Callable[[str, Fence], Mapping[str, Any]],
    *,
    writes: bool = False,
) -> Call:
    realm = entity.keys["table"].realm
    return Call(name=name, operation=operation, realm=realm, writes=writes, parameters=parameters)


ParametersForKey = Callable[[str, Item], Mapping[str, Any]]
_GET_OPERATIONS: Mapping[str, ParametersForKey] = {
    "GetItem": lambda table, key: {"TableName": table, "Key": key},
    "BatchGetItem": lambda table, key: {"RequestItems": {table: {"Keys": [key]}}},
    "TransactGetItems": lambda table, key: {"TransactItems": [{"Get": {"TableName": table, "Key": key}}]},
}
_UPDATE = {
    "UpdateExpression": "SET #n = :n",
    "ExpressionAttributeNames": {"#n": "note"},
    "ExpressionAttributeValues": {":n": {"S": "x"}},
}
_CONDITION = {"ConditionExpression": "attribute_not_exists(PK)"}
_WRITE_OPERATIONS: Mapping[str, ParametersForKey] = {
    "PutItem": lambda table, key: {"TableName": table, "Item": key},
    "UpdateItem": lambda table, key: {"TableName": table, "Key": key, **_UPDATE},
    "DeleteItem": lambda table, key: {"TableName": table, "Key": key},
    "BatchWriteItem of a put": lambda table, key: {"RequestItems": {table: [{"PutRequest": {"Item": key}}]}},
    "BatchWriteItem of a deletion": lambda table, key: {"RequestItems": {table: [{"DeleteRequest": {"Key": key}}]}},
    "TransactWriteItems of a put": lambda table, key: _transaction({"Put": {"TableName": table, "Item": key}}),
    "TransactWriteItems of an update": lambda table, key: _transaction(
        {"Update": {"TableName": table, "Key": key, **_UPDATE}}
    ),
    "TransactWriteItems of a deletion": lambda table, key: _transaction({"Delete": {"TableName": table, "Key": key}}),
    "TransactWriteItems of a check": lambda table, key: _transaction(
        {"ConditionCheck": {"TableName": table, "Key": {**key, "SK": {"S": "NOWHERE"}}, **_CONDITION}}
    ),
}


def _transaction(*members: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"TransactItems": list(members)}


def _with_key_inside(
    entity: Entity[Any], parameters_for_key: ParametersForKey
) -> Callable[[str, Fence], Mapping[str, Any]]:
    return lambda table, fence: parameters_for_key(table, example_key(entity, "table", fence))


def _query(pattern: Query[Any]) -> Callable[[str, Fence], Mapping[str, Any]]:
    def parameters(table: str, fence: Fence) -> Mapping[str, Any]:
        names = key_names(pattern.index)
        value = example_key(pattern.entity, pattern.index, fence)[names.partition]
        index = {} if pattern.index == "table" else {"IndexName": pattern.index.upper()}
        return {
            "TableName": table,
            **index,
            "KeyConditionExpression": "#p = :p",
            "ExpressionAttributeNames": {"#p": names.partition},
            "ExpressionAttributeValues": {":p": value},
        }

    return parameters


def example_key(entity: Entity[Any], index: Index, fence: Fence) -> Item:
    """Returns a key of this entity whose partition starts with the prefix of the fence."""
    key, names = entity.keys[index], key_names(index)
    index_prefix = fence.index_prefix or f"{fence.prefix}tag#"
    pair = key.render(Fence(key.realm, fence.prefix, index_prefix), UNSHARDED, example_values(key))
    return {names.partition: {"S": pair.partition}, names.sort: {"S": pair.sort}}


def example_values(key: Key) -> dict[str, object]:
    fields = [part for part in (*key.partition.segments, *key.sort.segments) if isinstance(part, KeyField)]
    sharded_by = {key.sharding.hashed_field: "example"} if key.sharding else {}
    return sharded_by | {field.name: _value(field) for field in fields}


def _value(field: KeyField) -> object:
    if field.spec == "path":
        return ("example",)
    if field.spec and field.spec[0] == "0":
        return 1
    return next((value for ending, value in EXAMPLE_BY_NAME_ENDING.items() if field.name.endswith(ending)), "example")
