"""`PartitionObserver`: which partitions a call used, and with how many units."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from typing import Any

import orjson
import structlog

from keyfence.hot_partitions.partition_load import TABLE, Partition, place_of
from keyfence.store.dynamodb.caller import ObservedCall
from keyfence.store.dynamodb.errors import CONTENTION, THROTTLING, DynamoDbError
from keyfence.store.entities import Projections
from keyfence.store.entity import INDEXES, key_names
from keyfence.usage.hourly_usage import CONTROL_PLANE
from keyfence_iam.dynamodb.capacity import TRANSACTION_FACTOR, WRITE_BYTES, consumed_total, write_units
from keyfence_iam.dynamodb.heavy_hitters import SketchEntry
from keyfence_iam.dynamodb.item_size import item_size
from keyfence_iam.dynamodb.operations import WRITE_OPERATIONS
from keyfence_iam.dynamodb.traffic_window import TrafficWindow
from keyfence_iam.tenant import TenantId

Item = Mapping[str, Any]

LEAST_READ = 0.5
PARTITIONS = {key_names(index).partition: index.upper() for index in INDEXES}
TURNED_AWAY = frozenset({"ThrottlingError", "ProvisionedThroughputExceeded"})


CapacityRequest = tuple[str, str, str, float, float]
"""A table, itself or its index of that name, a partition of it, and the read and write units that are asked of it."""

Member = tuple[CapacityRequest, ...]
"""One item's part of a call: DynamoDB takes all of it, or none."""

Keyed = tuple[str, str, str]

ProjectedAttributes = Mapping[str, frozenset[str]]
"""All attributes that an index stores, by the name of the index."""
NO_PROJECTIONS: ProjectedAttributes = {}
NO_INDEXES: Projections = {}


def projected_attributes(projections: Projections) -> ProjectedAttributes:
    return {
        index.upper(): frozenset({*key_names("table"), *key_names(index), *names})
        for index, names in projections.items()
    }


def capacity_requests(
    operation: str, call: Mapping[str, Any], units: float, projected: ProjectedAttributes = NO_PROJECTIONS
) -> Sequence[Member]:
    """`units` are what each key or page that is read takes. Of other calls nothing is known."""
    if operation == "Query":
        return _query(call, units)
    reader = _READERS.get(operation)
    return () if reader is None else [*reader(call, units, projected)]


def unprocessed(call: Mapping[str, Any], answer: Mapping[str, Any]) -> Sequence[int]:
    """The members of a batch that the answer leaves over, by their numbers."""
    left = answer.get("UnprocessedItems") or answer.get("UnprocessedKeys")
    if not left:
        return ()
    over = set(map(_key, _requests(left)))
    return [number for number, one in enumerate(_requests(call["RequestItems"])) if _key(one) in over]


def throttled_members(refusal: DynamoDbError, count: int) -> Sequence[int]:
    """The members that a refusal for want of units is about: of a transaction, those that it names."""
    if not refusal.cancellation_reasons:
        return range(count)
    return [number for number, reason in enumerate(refusal.cancellation_reasons) if reason in TURNED_AWAY]


def _query(call: Mapping[str, Any], units: float) -> Sequence[Member]:
    partition = call["ExpressionAttributeValues"].get(":p")
    where = call.get("IndexName", TABLE)
    return () if partition is None else (((call["TableName"], where, partition["S"], units, 0.0),),)


def _get(call: Mapping[str, Any], units: float, _: ProjectedAttributes) -> Iterator[Member]:
    yield ((call["TableName"], TABLE, call["Key"]["PK"]["S"], units, 0.0),)


def _batch_get(call: Mapping[str, Any], units: float, _: ProjectedAttributes) -> Iterator[Member]:
    for table, key in _requests(call["RequestItems"]):
        yield ((table, TABLE, key["PK"]["S"], units, 0.0),)


def _transact_get(call: Mapping[str, Any], units: float, _: ProjectedAttributes) -> Iterator[Member]:
    for one in call["TransactItems"]:
        get = one["Get"]
        yield ((get["TableName"], TABLE, get["Key"]["PK"]["S"], units, 0.0),)


def _batch_write(call: Mapping[str, Any], _: float, projected: ProjectedAttributes) -> Iterator[Member]:
    for table, one in _requests(call["RequestItems"]):
        put = one.get("PutRequest")
        yield _put(table, put["Item"], 1, projected) if put else _plain(table, one["DeleteRequest"]["Key"], 1)


def _transact_write(call: Mapping[str, Any], _: float, projected: ProjectedAttributes) -> Iterator[Member]:
    for one in call["TransactItems"]:
        for verb, write in one.items():
            table = write["TableName"]
            if verb == "Put":
                yield _put(table, write["Item"], TRANSACTION_FACTOR, projected)
            elif verb == "Update":
                yield *_plain(table, write["Key"], TRANSACTION_FACTOR), *_moved(table, write)
            else:
                yield _plain(table, write["Key"], TRANSACTION_FACTOR)


def _put(table: str, item: Item, factor: int, projected: ProjectedAttributes) -> Member:
    """An index follows once even what a transaction wrote."""
    indexes = [(name, item[attribute]["S"]) for attribute, name in PARTITIONS.items() if attribute in item]
    small = len(orjson.dumps(item)) <= WRITE_BYTES
    return (
        (table, TABLE, item["PK"]["S"], 0.0, factor * (1.0 if small else _units(item))),
        *(
            (table, name, one, 0.0, 1.0 if small else _units(_index_item(item, projected.get(name))))
            for name, one in indexes
        ),
    )


def _plain(table: str, key: Item, factor: int) -> Member:
    """A change or a removal of an item that the call does not show: it is taken to be a small one."""
    return ((table, TABLE, key["PK"]["S"], 0.0, factor),)


def _moved(table: str, update: Mapping[str, Any]) -> Iterator[CapacityRequest]:
    """The index partitions that it puts the item into."""
    for placeholder, name in update.get("ExpressionAttributeNames", {}).items():
        if name in PARTITIONS:
            _, _, value = update["UpdateExpression"].partition(f"{placeholder} = ")
            if value:
                given = update["ExpressionAttributeValues"][value.partition(" ")[0].rstrip(",")]
                yield table, PARTITIONS[name], given["S"], 0.0, 1.0


def _units(item: Item) -> float:
    return write_units(item_size(item))


def _index_item(item: Item, attributes: frozenset[str] | None) -> Item:
    """Returns what an index stores of an item: all of it, if the projection of the index is not known."""
    return item if attributes is None else {name: value for name, value in item.items() if name in attributes}


def _requests(tables: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for table, entry in tables.items():
        for request in entry["Keys"] if isinstance(entry, Mapping) else entry:
            yield table, request


def _key(named: tuple[str, Mapping[str, Any]]) -> Keyed:
    table, request = named
    put, delete = request.get("PutRequest"), request.get("DeleteRequest")
    key = put["Item"] if put else delete["Key"] if delete else request
    return table, key["PK"]["S"], key["SK"]["S"]


_READERS: Mapping[str, Callable[[Mapping[str, Any], float, ProjectedAttributes], Iterator[Member]]] = {
    "GetItem": _get,
    "BatchGetItem": _batch_get,
    "TransactGetItems": _transact_get,
    "BatchWriteItem": _batch_write,
    "TransactWriteItems": _transact_write,
}


CONDITIONS = frozenset({"TransactionCanceledException", "ConditionalCheckFailedException"})
"""A condition that does not hold was asked for as well."""

SINGLE = frozenset({"Query", "GetItem"})

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class PartitionObserver:
    """The watcher of a server. A call must not fail because nobody could make sense of it here."""

    window: TrafficWindow[Partition] = field(default_factory=TrafficWindow)
    projections: InitVar[Projections] = NO_INDEXES
    _projected: ProjectedAttributes = field(init=False)

    def __post_init__(self, projections: Projections) -> None:
        self._projected = projected_attributes(projections)

    def on_answer(self, asked: ObservedCall, answer: Mapping[str, Any]) -> None:
        try:
            self._answered(asked, answer)
        except Exception:
            log.exception("partition_observer_failed", operation=asked.operation)

    def on_error(self, asked: ObservedCall, refusal: DynamoDbError) -> None:
        meaning = refusal.rule
        if meaning not in (THROTTLING, CONTENTION) and refusal.code not in CONDITIONS:
            return
        try:
            wanted = capacity_requests(asked.operation, asked.parameters, LEAST_READ, self._projected)
            away = throttled_members(refusal, len(wanted)) if meaning is THROTTLING else ()
            self._count(asked, wanted, away, in_vain=True)
        except Exception:
            log.exception("partition_observer_failed", operation=asked.operation)

    def _answered(self, asked: ObservedCall, answer: Mapping[str, Any]) -> None:
        """A page's units are its partition's; those of several keys are taken to be shared alike."""
        operation, call = asked.operation, asked.parameters
        if operation in WRITE_OPERATIONS:
            self._count(asked, capacity_requests(operation, call, 0.0, self._projected), unprocessed(call, answer))
            return
        units = consumed_total(answer.get("ConsumedCapacity"))
        if operation in SINGLE:
            self._count(asked, capacity_requests(operation, call, units, self._projected), ())
            return
        away, several = unprocessed(call, answer), len(capacity_requests(operation, call, 0.0, self._projected))
        self._count(
            asked, capacity_requests(operation, call, units / max(1, several - len(away)), self._projected), away
        )

    def _count(
        self, asked: ObservedCall, wanted: Sequence[Member], away: Sequence[int], *, in_vain: bool = False
    ) -> None:
        tenant = asked.tenant or CONTROL_PLANE
        if not asked.is_retry:
            for member in wanted:
                for claim in member:
                    self._add(tenant, claim, in_vain=in_vain)
        for number in away:
            self._busiest(tenant, wanted[number]).throttled += 1

    def _add(self, tenant: TenantId, claim: CapacityRequest, *, in_vain: bool) -> None:
        table, where, partition, read, write = claim
        place = place_of(tenant, where, partition, table)
        if read:
            read = self._usual(place) if in_vain else read
            self.window.add(place, read, write).reads += 1
        else:
            self.window.add(place, read, write)

    def _usual(self, place: Partition) -> float:
        """What a read in vain would have taken: as much as those that were answered."""
        known = self.window.current.find(place)
        return max(LEAST_READ, known.read / known.reads) if known and known.reads else LEAST_READ

    def _busiest(self, tenant: TenantId, member: Member) -> SketchEntry:
        """A refusal does not say which of an item's partitions had no units left."""
        places = [place_of(tenant, where, partition, table) for table, where, partition, _, _ in member]
        return self.window.add(max(places, key=self.window.load), 0.0, 0.0)
