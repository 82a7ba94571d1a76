"""The capacity units that a DynamoDB call requests of each partition, derived from the parameters of the call.

This code runs for every call of a server. `keyfence_iam.dynamodb.item_access` answers the same question more exactly,
but it checks its input and takes more than ten times as long."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import orjson

from keyfence.hot_partitions.partition_load import TABLE
from keyfence.store.dynamodb.error_codes import DynamoDbError
from keyfence.store.entity import INDEXES, key_names
from keyfence.store.entity_registry import MAX_INCLUDED_ATTRIBUTES, Projections
from keyfence_iam.dynamodb.capacity import TRANSACTION_FACTOR, WRITE_UNIT_BYTES, write_units
from keyfence_iam.dynamodb.item_size import item_size

Item = Mapping[str, Any]

CapacityRequest = tuple[str, str, str, float, float]
"""Table, index name (or TABLE), partition key, requested read units, requested write units."""

ItemRequest = tuple[CapacityRequest, ...]
"""The capacity requests of one item of a call: one for the table, and one for each index that the call changes."""

ProjectedAttributes = Mapping[str, frozenset[str]]
"""All attributes that an index stores, by the name of the index. An index that is missing here stores whole items."""

NO_ATTRIBUTES: ProjectedAttributes = {}

MIN_READ_UNITS = 0.5
"""Units of an eventually consistent read of at most 4 KB. No read costs less."""

INDEX_BY_KEY = {key_names(index).partition: index.upper() for index in INDEXES}
"""The name of each index, by the attribute that contains its partition key."""

THROTTLING_REASONS = frozenset({"ThrottlingError", "ProvisionedThroughputExceeded"})
"""Cancellation reasons of a transaction that mean that the item was throttled."""


def projected_attributes(projections: Projections) -> ProjectedAttributes:
    """Returns the attributes of each index that does not project all attributes."""
    return {
        index.upper(): frozenset({*key_names("table"), *key_names(index), *names})
        for index, names in projections.items()
        if len(names) <= MAX_INCLUDED_ATTRIBUTES
    }


def capacity_requests(
    operation: str,
    parameters: Mapping[str, Any],
    units_per_read: float,
    projected: ProjectedAttributes = NO_ATTRIBUTES,
) -> Sequence[ItemRequest]:
    """Returns the capacity requests of a call, item by item. Returns none for an operation that is not counted.

    `units_per_read` is the number of units that each key or page consumes if the call reads."""
    if operation == "Query":
        return _query(parameters, units_per_read)
    parse_requests = _REQUEST_PARSERS.get(operation)
    return () if parse_requests is None else [*parse_requests(parameters, units_per_read, projected)]


def unprocessed_positions(parameters: Mapping[str, Any], answer: Mapping[str, Any]) -> Sequence[int]:
    """Returns the positions of the requests of a batch that the answer names as unprocessed."""
    unprocessed_by_table = answer.get("UnprocessedItems") or answer.get("UnprocessedKeys")
    if not unprocessed_by_table:
        return ()
    keys = set(map(_key, _requests(unprocessed_by_table)))
    return [position for position, request in enumerate(_requests(parameters["RequestItems"])) if _key(request) in keys]


def throttled_positions(error: DynamoDbError, count: int) -> Sequence[int]:
    """Returns the positions of the items that were throttled, of `count` items.

    A canceled transaction names the throttled items. Any other error means all items."""
    if not error.cancellation_reasons:
        return range(count)
    return [position for position, reason in enumerate(error.cancellation_reasons) if reason in THROTTLING_REASONS]


def _query(parameters: Mapping[str, Any], units: float) -> Sequence[ItemRequest]:
    partition = parameters["ExpressionAttributeValues"].get(":p")
    index = parameters.get("IndexName", TABLE)
    return () if partition is None else (((parameters["TableName"], index, partition["S"], units, 0.0),),)


def _get(parameters: Mapping[str, Any], units: float, _: ProjectedAttributes) -> Iterator[ItemRequest]:
    yield ((parameters["TableName"], TABLE, parameters["Key"]["PK"]["S"], units, 0.0),)


def _batch_get(parameters: Mapping[str, Any], units: float, _: ProjectedAttributes) -> Iterator[ItemRequest]:
    for table, key in _requests(parameters["RequestItems"]):
        yield ((table, TABLE, key["PK"]["S"], units, 0.0),)


def _transact_get(parameters: Mapping[str, Any], units: float, _: ProjectedAttributes) -> Iterator[ItemRequest]:
    for member in parameters["TransactItems"]:
        get = member["Get"]
        yield ((get["TableName"], TABLE, get["Key"]["PK"]["S"], units, 0.0),)


def _batch_write(parameters: Mapping[str, Any], _: float, projected: ProjectedAttributes) -> Iterator[ItemRequest]:
    for table, request in _requests(parameters["RequestItems"]):
        put = request.get("PutRequest")
        yield _put(table, put["Item"], 1, projected) if put else _small_write(table, request["DeleteRequest"]["Key"], 1)


def _transact_write(parameters: Mapping[str, Any], _: float, projected: ProjectedAttributes) -> Iterator[ItemRequest]:
    for member in parameters["TransactItems"]:
        for verb, write in member.items():
            table = write["TableName"]
            if verb == "Put":
                yield _put(table, write["Item"], TRANSACTION_FACTOR, projected)
            elif verb == "Update":
                yield *_small_write(table, write["Key"], TRANSACTION_FACTOR), *_changed_indexes(table, write)
            else:
                yield _small_write(table, write["Key"], TRANSACTION_FACTOR)


def _put(table: str, item: Item, table_factor: int, projected: ProjectedAttributes) -> ItemRequest:
    """Returns the requests of a put. `table_factor` is 2 in a transaction, else 1. Indexes have the factor 1."""
    indexes = [(index, item[attribute]["S"]) for attribute, index in INDEX_BY_KEY.items() if attribute in item]
    # The JSON text is longer than the stored item. A short text proves that the item costs one unit, and is faster
    # to make than the exact size.
    is_small = len(orjson.dumps(item)) <= WRITE_UNIT_BYTES
    return (
        (table, TABLE, item["PK"]["S"], 0.0, table_factor * (1.0 if is_small else _units(item))),
        *(
            (table, index, key, 0.0, 1.0 if is_small else _units(_index_item(item, projected.get(index))))
            for index, key in indexes
        ),
    )


def _small_write(table: str, key: Item, factor: int) -> ItemRequest:
    """Returns the request of an update or a delete.

    The call does not show the size of the item, so the write counts as one unit."""
    return ((table, TABLE, key["PK"]["S"], 0.0, factor),)


def _changed_indexes(table: str, update: Mapping[str, Any]) -> Iterator[CapacityRequest]:
    """Yields a request for each index partition that an update moves the item to."""
    for placeholder, attribute in update.get("ExpressionAttributeNames", {}).items():
        if attribute in INDEX_BY_KEY:
            _, _, text_after_equals = update["UpdateExpression"].partition(f"{placeholder} = ")
            if text_after_equals:
                value_placeholder = text_after_equals.partition(" ")[0].rstrip(",")
                value = update["ExpressionAttributeValues"][value_placeholder]
                yield table, INDEX_BY_KEY[attribute], value["S"], 0.0, 1.0


def _units(item: Item) -> float:
    return write_units(item_size(item))


def _index_item(item: Item, attributes: frozenset[str] | None) -> Item:
    """Returns the attributes that an index stores, or all attributes if the projection of the index is not known."""
    return item if attributes is None else {name: value for name, value in item.items() if name in attributes}


def _requests(requests_by_table: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yields each request of a batch with its table. A batch of reads has the requests of a table under `Keys`."""
    for table, entry in requests_by_table.items():
        for request in entry["Keys"] if isinstance(entry, Mapping) else entry:
            yield table, request


def _key(table_request: tuple[str, Mapping[str, Any]]) -> tuple[str, str, str]:
    """Returns the table, the partition key and the sort key of a request, which may be a put, a delete or a read."""
    table, request = table_request
    put, delete = request.get("PutRequest"), request.get("DeleteRequest")
    key = put["Item"] if put else delete["Key"] if delete else request
    return table, key["PK"]["S"], key["SK"]["S"]


_REQUEST_PARSERS: Mapping[str, Callable[[Mapping[str, Any], float, ProjectedAttributes], Iterator[ItemRequest]]] = {
    "GetItem": _get,
    "BatchGetItem": _batch_get,
    "TransactGetItems": _transact_get,
    "BatchWriteItem": _batch_write,
    "TransactWriteItems": _transact_write,
}
"""For each operation, the function that derives the requests from its parameters."""
