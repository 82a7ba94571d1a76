"""What a call asks of partitions: units by size, as DynamoDB counts them, for each of its members."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import orjson

from keyfence.store.dynamodb.errors import Refused
from keyfence.store.entity import key_names
from keyfence.store.schema import INDEXES, PROJECTED
from keyfence.store.size import OVERHEAD, item_bytes
from keyfence.traffic.place import TABLE
from keyfence_iam.gate.limits.units import TRANSACTED, WRITE_BYTES, write_units

Item = Mapping[str, Any]

LEAST_READ = 0.5
PARTITIONS = {key_names(index).partition: index.upper() for index in INDEXES}
CARRIED = {index.upper(): frozenset({*key_names("table"), *key_names(index), *PROJECTED[index]}) for index in INDEXES}
TURNED_AWAY = frozenset({"ThrottlingError", "ProvisionedThroughputExceeded"})


Claim = tuple[str, str, str, float, float]
"""A table, itself or its index of that name, a partition of it, and the read and write units that are asked of it."""

Member = tuple[Claim, ...]
"""One item's part of a call: DynamoDB takes all of it, or none."""

Keyed = tuple[str, str, str]


def members(operation: str, call: Mapping[str, Any], units: float) -> Sequence[Member]:
    """`units` are what each key or page that is read takes. Of other calls nothing is known."""
    if operation == "Query":
        return _query(call, units)
    reader = _READERS.get(operation)
    return () if reader is None else [*reader(call, units)]


def turned_away(call: Mapping[str, Any], answer: Mapping[str, Any]) -> Sequence[int]:
    """The members of a batch that the answer leaves over, by their numbers."""
    left = answer.get("UnprocessedItems") or answer.get("UnprocessedKeys")
    if not left:
        return ()
    over = set(map(_key, _requests(left)))
    return [number for number, one in enumerate(_requests(call["RequestItems"])) if _key(one) in over]


def blamed(refusal: Refused, count: int) -> Sequence[int]:
    """The members that a refusal for want of units is about: of a transaction, those that it names."""
    if not refusal.reasons:
        return range(count)
    return [number for number, reason in enumerate(refusal.reasons) if reason in TURNED_AWAY]


def _query(call: Mapping[str, Any], units: float) -> Sequence[Member]:
    partition = call["ExpressionAttributeValues"].get(":p")
    where = call.get("IndexName", TABLE)
    return () if partition is None else (((call["TableName"], where, partition["S"], units, 0.0),),)


def _get(call: Mapping[str, Any], units: float) -> Iterator[Member]:
    yield ((call["TableName"], TABLE, call["Key"]["PK"]["S"], units, 0.0),)


def _batch_get(call: Mapping[str, Any], units: float) -> Iterator[Member]:
    for table, key in _requests(call["RequestItems"]):
        yield ((table, TABLE, key["PK"]["S"], units, 0.0),)


def _transact_get(call: Mapping[str, Any], units: float) -> Iterator[Member]:
    for one in call["TransactItems"]:
        get = one["Get"]
        yield ((get["TableName"], TABLE, get["Key"]["PK"]["S"], units, 0.0),)


def _batch_write(call: Mapping[str, Any], _: float) -> Iterator[Member]:
    for table, one in _requests(call["RequestItems"]):
        put = one.get("PutRequest")
        yield _put(table, put["Item"], 1) if put else _plain(table, one["DeleteRequest"]["Key"], 1)


def _transact_write(call: Mapping[str, Any], _: float) -> Iterator[Member]:
    for one in call["TransactItems"]:
        for verb, write in one.items():
            table = write["TableName"]
            if verb == "Put":
                yield _put(table, write["Item"], TRANSACTED)
            elif verb == "Update":
                yield *_plain(table, write["Key"], TRANSACTED), *_moved(table, write)
            else:
                yield _plain(table, write["Key"], TRANSACTED)


def _put(table: str, item: Item, factor: int) -> Member:
    """An index follows once even what a transaction wrote."""
    indexes = [(name, item[attribute]["S"]) for attribute, name in PARTITIONS.items() if attribute in item]
    small = len(orjson.dumps(item)) <= WRITE_BYTES
    return (
        (table, TABLE, item["PK"]["S"], 0.0, factor * (1.0 if small else _units(item))),
        *((table, name, one, 0.0, 1.0 if small else _units(_carried(name, item))) for name, one in indexes),
    )


def _plain(table: str, key: Item, factor: int) -> Member:
    """A change or a removal of an item that the call does not show: it is taken to be a small one."""
    return ((table, TABLE, key["PK"]["S"], 0.0, factor),)


def _moved(table: str, update: Mapping[str, Any]) -> Iterator[Claim]:
    """The index partitions that it puts the item into."""
    for placeholder, name in update.get("ExpressionAttributeNames", {}).items():
        if name in PARTITIONS:
            _, _, value = update["UpdateExpression"].partition(f"{placeholder} = ")
            if value:
                given = update["ExpressionAttributeValues"][value.partition(" ")[0].rstrip(",")]
                yield table, PARTITIONS[name], given["S"], 0.0, 1.0


def _units(item: Item) -> float:
    return write_units(item_bytes(dict(item)) - OVERHEAD)


def _carried(index: str, item: Item) -> Item:
    return {name: value for name, value in item.items() if name in CARRIED[index]}


def _requests(tables: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for table, entry in tables.items():
        for request in entry["Keys"] if isinstance(entry, Mapping) else entry:
            yield table, request


def _key(named: tuple[str, Mapping[str, Any]]) -> Keyed:
    table, request = named
    put, delete = request.get("PutRequest"), request.get("DeleteRequest")
    key = put["Item"] if put else delete["Key"] if delete else request
    return table, key["PK"]["S"], key["SK"]["S"]


_READERS: Mapping[str, Callable[[Mapping[str, Any], float], Iterator[Member]]] = {
    "GetItem": _get,
    "BatchGetItem": _batch_get,
    "TransactGetItems": _transact_get,
    "BatchWriteItem": _batch_write,
    "TransactWriteItems": _transact_write,
}
