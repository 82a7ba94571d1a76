"""What a call asks of partitions: units by size, as DynamoDB counts them, for each of its members."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import orjson

from iam.gate.limits.units import TRANSACTED, WRITE_BYTES, write_units
from service.store.answers import Refused
from service.store.entity import key_names
from service.store.schema import INDEXES, PROJECTED
from service.store.size import OVERHEAD, item_bytes
from service.traffic.place import TABLE

Item = Mapping[str, Any]

LEAST_READ = 0.5
PARTITIONS = {key_names(index).partition: index.upper() for index in INDEXES}
CARRIED = {index.upper(): frozenset({*key_names("table"), *key_names(index), *PROJECTED[index]}) for index in INDEXES}
TURNED_AWAY = frozenset({"ThrottlingError", "ProvisionedThroughputExceeded"})


Claim = tuple[str, str, float, float]
"""The table or the index of that name, a partition of it, and the read and write units that are asked of it."""

Member = tuple[Claim, ...]
"""One item's part of a call: DynamoDB takes all of it, or none."""

Keyed = tuple[str, str]


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
    return () if partition is None else (((call.get("IndexName", TABLE), partition["S"], units, 0.0),),)


def _get(call: Mapping[str, Any], units: float) -> Iterator[Member]:
    yield ((TABLE, call["Key"]["PK"]["S"], units, 0.0),)


def _batch_get(call: Mapping[str, Any], units: float) -> Iterator[Member]:
    for key in _requests(call["RequestItems"]):
        yield ((TABLE, key["PK"]["S"], units, 0.0),)


def _transact_get(call: Mapping[str, Any], units: float) -> Iterator[Member]:
    for one in call["TransactItems"]:
        yield ((TABLE, one["Get"]["Key"]["PK"]["S"], units, 0.0),)


def _batch_write(call: Mapping[str, Any], _: float) -> Iterator[Member]:
    for one in _requests(call["RequestItems"]):
        put = one.get("PutRequest")
        yield _put(put["Item"], 1) if put else _plain(one["DeleteRequest"]["Key"], 1)


def _transact_write(call: Mapping[str, Any], _: float) -> Iterator[Member]:
    for one in call["TransactItems"]:
        for verb, write in one.items():
            if verb == "Put":
                yield _put(write["Item"], TRANSACTED)
            elif verb == "Update":
                yield *_plain(write["Key"], TRANSACTED), *_moved(write)
            else:
                yield _plain(write["Key"], TRANSACTED)


def _put(item: Item, factor: int) -> Member:
    """An index follows once even what a transaction wrote."""
    indexes = [(name, item[attribute]["S"]) for attribute, name in PARTITIONS.items() if attribute in item]
    if len(orjson.dumps(item)) <= WRITE_BYTES:
        return ((TABLE, item["PK"]["S"], 0.0, factor), *((name, one, 0.0, 1.0) for name, one in indexes))
    return (
        (TABLE, item["PK"]["S"], 0.0, _units(item) * factor),
        *((name, one, 0.0, _units(_carried(name, item))) for name, one in indexes),
    )


def _plain(key: Item, factor: int) -> Member:
    """A change or a removal of an item that the call does not show: it is taken to be a small one."""
    return ((TABLE, key["PK"]["S"], 0.0, factor),)


def _moved(update: Mapping[str, Any]) -> Iterator[Claim]:
    """The index partitions that it puts the item into."""
    for placeholder, name in update.get("ExpressionAttributeNames", {}).items():
        if name in PARTITIONS:
            _, _, value = update["UpdateExpression"].partition(f"{placeholder} = ")
            if value:
                given = update["ExpressionAttributeValues"][value.partition(" ")[0].rstrip(",")]
                yield (PARTITIONS[name], given["S"], 0.0, 1.0)


def _units(item: Item) -> float:
    return write_units(item_bytes(dict(item)) - OVERHEAD)


def _carried(index: str, item: Item) -> Item:
    return {name: value for name, value in item.items() if name in CARRIED[index]}


def _requests(tables: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for entry in tables.values():
        yield from entry["Keys"] if isinstance(entry, Mapping) else entry


def _key(request: Mapping[str, Any]) -> Keyed:
    put, delete = request.get("PutRequest"), request.get("DeleteRequest")
    key = put["Item"] if put else delete["Key"] if delete else request
    return key["PK"]["S"], key["SK"]["S"]


_READERS: Mapping[str, Callable[[Mapping[str, Any], float], Iterator[Member]]] = {
    "GetItem": _get,
    "BatchGetItem": _batch_get,
    "TransactGetItems": _transact_get,
    "BatchWriteItem": _batch_write,
    "TransactWriteItems": _transact_write,
}
