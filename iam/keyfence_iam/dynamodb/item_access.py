"""The items that a call reads or writes, as the throughput limits of the gate need to know them."""

from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum

from keyfence_iam.dynamodb.attributes import attribute_changes
from keyfence_iam.dynamodb.call_parts import batch_reads, batch_writes, transaction_reads, transaction_writes
from keyfence_iam.dynamodb.capacity import TRANSACTION_FACTOR, Partition
from keyfence_iam.dynamodb.item_costs import ItemKey, ItemRead, ItemWrite, returns_whole_items
from keyfence_iam.dynamodb.item_size import Item
from keyfence_iam.dynamodb.operations import WriteKind
from keyfence_iam.dynamodb.parameters import Parameters
from keyfence_iam.dynamodb.table_schema import TableSchema

TableSchemas = Mapping[str, TableSchema]


class CallShape(Enum):
    """How DynamoDB treats a call if a part of it is throttled."""

    SINGLE = "single"
    """The call fails."""
    BATCH = "batch"
    """The other parts are processed."""
    TRANSACTION = "transaction"
    """The call is canceled."""


@dataclass(frozen=True, slots=True)
class ItemAccess:
    """The reads or the writes of a call. No call has both."""

    shape: CallShape
    reads: tuple[ItemRead, ...] = ()
    writes: tuple[ItemWrite, ...] = ()

    @property
    def items_to_read(self) -> tuple[ItemKey, ...]:
        """The items whose size the response does not show, and which have to be read to know it."""
        hidden = (read.target for read in self.reads if not read.returns_whole_items)
        return (*(write.target for write in self.writes), *(target for target in hidden if target is not None))

    @property
    def parts(self) -> tuple[ItemRead, ...] | tuple[ItemWrite, ...]:
        return self.reads or self.writes

    def without(self, numbers: Container[int]) -> "ItemAccess":
        return replace(
            self,
            reads=tuple(read for number, read in enumerate(self.reads) if number not in numbers),
            writes=tuple(write for number, write in enumerate(self.writes) if number not in numbers),
        )


def table_name(name_or_arn: str) -> str:
    return name_or_arn.rpartition("/")[2]


def item_access(
    operation: str, call: Parameters, leading_keys: tuple[str, ...], schemas: TableSchemas
) -> ItemAccess | None:
    """Return the items of a call, or None if it accesses no items or does so by Scan or PartiQL."""
    if operation == "Query":
        return ItemAccess(CallShape.SINGLE, reads=(_query(call, leading_keys[0], schemas),))
    if operation in _READS:
        shape, reads = _READS[operation]
        return ItemAccess(shape, reads=tuple(reads(call, schemas)))
    if operation in _WRITES:
        shape, writes = _WRITES[operation]
        return ItemAccess(shape, writes=tuple(writes(call, schemas)))
    return None


def _query(call: Parameters, key: str, schemas: TableSchemas) -> ItemRead:
    table, index = table_name(call["TableName"]), call.get("IndexName")
    schema = schemas[table].indexes.get(str(index))
    partition = Partition(table, None if schema and schema.local else index, key)
    return ItemRead(
        partition=partition, consistent=bool(call.get("ConsistentRead")), returns_whole_items=returns_whole_items(call)
    )


def _get(call: Parameters, schemas: TableSchemas) -> Iterator[ItemRead]:
    yield _read(call["TableName"], call["Key"], call, schemas, consistent=bool(call.get("ConsistentRead")))


def _batch_get(call: Parameters, schemas: TableSchemas) -> Iterator[ItemRead]:
    for table, entry, keys in batch_reads(call):
        for key in keys:
            yield _read(table, key, entry, schemas, consistent=bool(entry.get("ConsistentRead")))


def _transact_get(call: Parameters, schemas: TableSchemas) -> Iterator[ItemRead]:
    for get in transaction_reads(call):
        yield _read(get["TableName"], get["Key"], get, schemas, consistent=True, factor=TRANSACTION_FACTOR)


def _read(
    table: str, key: Item, call: Parameters, schemas: TableSchemas, *, consistent: bool, factor: int = 1
) -> ItemRead:
    target = _target(table, key, schemas)
    return ItemRead(
        partition=target.partition,
        consistent=consistent,
        returns_whole_items=returns_whole_items(call),
        factor=factor,
        target=target,
    )


def _single(kind: WriteKind) -> Callable[[Parameters, TableSchemas], Iterator[ItemWrite]]:
    def writes(call: Parameters, schemas: TableSchemas) -> Iterator[ItemWrite]:
        yield _write(kind, call, schemas)

    return writes


def _batch_write(call: Parameters, schemas: TableSchemas) -> Iterator[ItemWrite]:
    for table, writes in batch_writes(call):
        for kind, item in writes:
            yield _write(kind, {"TableName": table, "Item" if kind == "Put" else "Key": item}, schemas)


def _transact_write(call: Parameters, schemas: TableSchemas) -> Iterator[ItemWrite]:
    for kind, write in transaction_writes(call):
        yield _write(kind, write, schemas, factor=TRANSACTION_FACTOR)


def _write(kind: WriteKind, call: Parameters, schemas: TableSchemas, *, factor: int = 1) -> ItemWrite:
    item = call["Item"] if kind == "Put" else None
    return ItemWrite(
        target=_target(call["TableName"], call["Key"] if item is None else item, schemas),
        kind=kind,
        item=item,
        changes=tuple(attribute_changes(call)) if kind == "Update" else (),
        factor=factor,
    )


def _target(table: str, item: Item, schemas: TableSchemas) -> ItemKey:
    schema = schemas[table_name(table)]
    return ItemKey(table_name(table), schema, schema.key_of(item))


_READS: Mapping[str, tuple[CallShape, Callable[[Parameters, TableSchemas], Iterator[ItemRead]]]] = {
    "GetItem": (CallShape.SINGLE, _get),
    "BatchGetItem": (CallShape.BATCH, _batch_get),
    "TransactGetItems": (CallShape.TRANSACTION, _transact_get),
}
_WRITES: Mapping[str, tuple[CallShape, Callable[[Parameters, TableSchemas], Iterator[ItemWrite]]]] = {
    "PutItem": (CallShape.SINGLE, _single("Put")),
    "UpdateItem": (CallShape.SINGLE, _single("Update")),
    "DeleteItem": (CallShape.SINGLE, _single("Delete")),
    "BatchWriteItem": (CallShape.BATCH, _batch_write),
    "TransactWriteItems": (CallShape.TRANSACTION, _transact_write),
}
