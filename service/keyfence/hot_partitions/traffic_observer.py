"""`PartitionObserver`: counts the capacity units that each DynamoDB call requests of each partition."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from typing import Any

import orjson
import structlog

from keyfence.hot_partitions.partition_load import TABLE, TenantPartition, new_partition
from keyfence.store.dynamodb.caller import ObservedCall
from keyfence.store.dynamodb.error_codes import CONTENTION, THROTTLING, DynamoDbError
from keyfence.store.entity import INDEXES, key_names
from keyfence.store.entity_registry import Projections
from keyfence.usage.hourly_usage import CONTROL_PLANE
from keyfence_iam.dynamodb.capacity import TRANSACTION_FACTOR, WRITE_BYTES, consumed_total, write_units
from keyfence_iam.dynamodb.heavy_hitters import SketchEntry
from keyfence_iam.dynamodb.item_size import item_size
from keyfence_iam.dynamodb.operations import WRITE_OPERATIONS
from keyfence_iam.dynamodb.traffic_window import TrafficWindow
from keyfence_iam.tenant import TenantId

Item = Mapping[str, Any]

MIN_READ_UNITS = 0.5
INDEX_BY_KEY = {key_names(index).partition: index.upper() for index in INDEXES}
"""The name of the index, by its partition key attribute."""

THROTTLING_REASONS = frozenset({"ThrottlingError", "ProvisionedThroughputExceeded"})
FAILED_CONDITIONS = frozenset({"TransactionCanceledException", "ConditionalCheckFailedException"})
"""Errors after which DynamoDB has consumed units all the same, for checking the condition."""

ONE_PARTITION = frozenset({"Query", "GetItem"})

CapacityRequest = tuple[str, str, str, float, float]
"""Table, index name (or TABLE), partition key, requested read units, requested write units."""

ItemRequest = tuple[CapacityRequest, ...]
"""The capacity requests of one item of a call: one for the table, and one for each index that it changes."""

ProjectedAttributes = Mapping[str, frozenset[str]]
"""All attributes that an index stores, by the name of the index."""

NO_PROJECTIONS: ProjectedAttributes = {}
NO_INDEXES: Projections = {}

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class PartitionObserver:
    """Observes all calls of a server and counts them in a window. An error in here never fails the call."""

    window: TrafficWindow[TenantPartition] = field(default_factory=TrafficWindow)
    projections: InitVar[Projections] = NO_INDEXES
    _projected: ProjectedAttributes = field(init=False)

    def __post_init__(self, projections: Projections) -> None:
        self._projected = projected_attributes(projections)

    def on_answer(self, call: ObservedCall, answer: Mapping[str, Any]) -> None:
        try:
            self._count_answer(call, answer)
        except Exception:
            log.exception("partition_observer_failed", operation=call.operation)

    def on_error(self, call: ObservedCall, error: DynamoDbError) -> None:
        rule = error.rule
        if rule not in (THROTTLING, CONTENTION) and error.code not in FAILED_CONDITIONS:
            return
        try:
            requests = capacity_requests(call.operation, call.parameters, MIN_READ_UNITS, self._projected)
            throttled = throttled_items(error, len(requests)) if rule is THROTTLING else ()
            self._count(call, requests, throttled, failed=True)
        except Exception:
            log.exception("partition_observer_failed", operation=call.operation)

    def _count_answer(self, call: ObservedCall, answer: Mapping[str, Any]) -> None:
        """The units of a read of several keys are divided evenly between the keys that were read."""
        operation, parameters = call.operation, call.parameters
        if operation in WRITE_OPERATIONS:
            requests = capacity_requests(operation, parameters, 0.0, self._projected)
            self._count(call, requests, unprocessed(parameters, answer))
            return
        units = consumed_total(answer.get("ConsumedCapacity"))
        if operation in ONE_PARTITION:
            self._count(call, capacity_requests(operation, parameters, units, self._projected), ())
            return
        left_over = unprocessed(parameters, answer)
        keys = len(capacity_requests(operation, parameters, 0.0, self._projected))
        units_per_key = units / max(1, keys - len(left_over))
        self._count(call, capacity_requests(operation, parameters, units_per_key, self._projected), left_over)

    def _count(
        self, call: ObservedCall, requests: Sequence[ItemRequest], throttled: Sequence[int], *, failed: bool = False
    ) -> None:
        """Count the requests of a call, but not again when it is retried. `throttled` has numbers of requests."""
        tenant = call.tenant or CONTROL_PLANE
        if not call.is_retry:
            for item_request in requests:
                for request in item_request:
                    self._add(tenant, request, failed=failed)
        for number in throttled:
            self._busiest(tenant, requests[number]).throttled += 1

    def _add(self, tenant: TenantId, request: CapacityRequest, *, failed: bool) -> None:
        table, index, key, read, write = request
        partition = new_partition(tenant, index, key, table)
        if read:
            read = self._usual_read_units(partition) if failed else read
            self.window.add(partition, read, write).reads += 1
        else:
            self.window.add(partition, read, write)

    def _usual_read_units(self, partition: TenantPartition) -> float:
        """Estimates the units of a failed read: as many as a successful read of this partition has on average."""
        known = self.window.current.find(partition)
        return max(MIN_READ_UNITS, known.read / known.reads) if known and known.reads else MIN_READ_UNITS

    def _busiest(self, tenant: TenantId, item_request: ItemRequest) -> SketchEntry:
        """DynamoDB does not say which of an item's partitions was throttled. It is most likely the busiest one."""
        partitions = [new_partition(tenant, index, key, table) for table, index, key, _, _ in item_request]
        return self.window.add(max(partitions, key=self.window.load), 0.0, 0.0)


def projected_attributes(projections: Projections) -> ProjectedAttributes:
    return {
        index.upper(): frozenset({*key_names("table"), *key_names(index), *names})
        for index, names in projections.items()
    }


def capacity_requests(
    operation: str, parameters: Mapping[str, Any], units: float, projected: ProjectedAttributes = NO_PROJECTIONS
) -> Sequence[ItemRequest]:
    """Return what a call requests, item by item. `units` is what each key or page that it reads consumes.

    Returns nothing for operations that are not listed here. `keyfence_iam.dynamodb.item_access` is not used, since it
    checks its input and takes more than ten times as long: this runs for every call."""
    if operation == "Query":
        return _query(parameters, units)
    reader = _READERS.get(operation)
    return () if reader is None else [*reader(parameters, units, projected)]


def unprocessed(parameters: Mapping[str, Any], answer: Mapping[str, Any]) -> Sequence[int]:
    """Return the numbers of the requests of a batch that the answer names as unprocessed."""
    left = answer.get("UnprocessedItems") or answer.get("UnprocessedKeys")
    if not left:
        return ()
    keys = set(map(_key, _requests(left)))
    return [number for number, request in enumerate(_requests(parameters["RequestItems"])) if _key(request) in keys]


def throttled_items(error: DynamoDbError, count: int) -> Sequence[int]:
    """Return the numbers of the items that were throttled: those that a canceled transaction names, otherwise all."""
    if not error.cancellation_reasons:
        return range(count)
    return [number for number, reason in enumerate(error.cancellation_reasons) if reason in THROTTLING_REASONS]


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


def _put(table: str, item: Item, factor: int, projected: ProjectedAttributes) -> ItemRequest:
    """A transaction costs the table twice the units, but not its indexes."""
    indexes = [(index, item[attribute]["S"]) for attribute, index in INDEX_BY_KEY.items() if attribute in item]
    small = len(orjson.dumps(item)) <= WRITE_BYTES
    return (
        (table, TABLE, item["PK"]["S"], 0.0, factor * (1.0 if small else _units(item))),
        *(
            (table, index, key, 0.0, 1.0 if small else _units(_index_item(item, projected.get(index))))
            for index, key in indexes
        ),
    )


def _small_write(table: str, key: Item, factor: int) -> ItemRequest:
    """An update or a delete. The call does not show the size of the item, which is taken to be one unit."""
    return ((table, TABLE, key["PK"]["S"], 0.0, factor),)


def _changed_indexes(table: str, update: Mapping[str, Any]) -> Iterator[CapacityRequest]:
    """Yield the index partitions that an update moves the item to."""
    for placeholder, attribute in update.get("ExpressionAttributeNames", {}).items():
        if attribute in INDEX_BY_KEY:
            _, _, rest = update["UpdateExpression"].partition(f"{placeholder} = ")
            if rest:
                value = update["ExpressionAttributeValues"][rest.partition(" ")[0].rstrip(",")]
                yield table, INDEX_BY_KEY[attribute], value["S"], 0.0, 1.0


def _units(item: Item) -> float:
    return write_units(item_size(item))


def _index_item(item: Item, attributes: frozenset[str] | None) -> Item:
    """Return what an index stores of an item. That is all of it, if the projection of the index is not known."""
    return item if attributes is None else {name: value for name, value in item.items() if name in attributes}


def _requests(tables: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for table, entry in tables.items():
        for request in entry["Keys"] if isinstance(entry, Mapping) else entry:
            yield table, request


def _key(table_request: tuple[str, Mapping[str, Any]]) -> tuple[str, str, str]:
    table, request = table_request
    put, delete = request.get("PutRequest"), request.get("DeleteRequest")
    key = put["Item"] if put else delete["Key"] if delete else request
    return table, key["PK"]["S"], key["SK"]["S"]


_READERS: Mapping[str, Callable[[Mapping[str, Any], float, ProjectedAttributes], Iterator[ItemRequest]]] = {
    "GetItem": _get,
    "BatchGetItem": _batch_get,
    "TransactGetItems": _transact_get,
    "BatchWriteItem": _batch_write,
    "TransactWriteItems": _transact_write,
}
