"""The items that a call reads or writes. The gate computes the capacity units of the call from them."""

from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum

from keyfence_iam.dynamodb.attributes import attribute_changes
from keyfence_iam.dynamodb.batch_and_transaction_parts import (
    batch_reads,
    batch_writes,
    transaction_reads,
    transaction_writes,
)
from keyfence_iam.dynamodb.capacity import TRANSACTION_FACTOR, Partition
from keyfence_iam.dynamodb.item_costs import ItemKey, ItemRead, ItemWrite, returns_whole_items
from keyfence_iam.dynamodb.item_size import Item
from keyfence_iam.dynamodb.operations import WriteKind
from keyfence_iam.dynamodb.request_parameters import Parameters
from keyfence_iam.dynamodb.table_schema import TableSchema, table_name

TableSchemas = Mapping[str, TableSchema]
"""Schemas by the names of their tables."""


class CallShape(Enum):
    """The kind of a call. It decides what DynamoDB does if one part of the call is throttled."""

    SINGLE = "single"
    """The call has only one part. If it is throttled, the call fails."""
    BATCH = "batch"
    """DynamoDB processes the other parts, and returns the throttled part as unprocessed."""
    TRANSACTION = "transaction"
    """DynamoDB cancels the whole call."""


@dataclass(frozen=True, slots=True)
class ItemAccess:
    """The reads or the writes of a call. A call never has both."""

    shape: CallShape
    reads: tuple[ItemRead, ...] = ()
    writes: tuple[ItemWrite, ...] = ()

    @property
    def items_to_read(self) -> tuple[ItemKey, ...]:
        """The items whose size the response does not show. The gate has to read them to know their size."""
        written = (write.target for write in self.writes)
        partly_returned = (read.target for read in self.reads if not read.returns_whole_items)
        return (*written, *(target for target in partly_returned if target is not None))

    @property
    def parts(self) -> tuple[ItemRead, ...] | tuple[ItemWrite, ...]:
        return self.reads or self.writes

    def without_parts(self, positions: Container[int]) -> "ItemAccess":
        return replace(
            self,
            reads=tuple(read for position, read in enumerate(self.reads) if position not in positions),
            writes=tuple(write for position, write in enumerate(self.writes) if position not in positions),
        )


def find_item_access(
    operation: str, call: Parameters, leading_keys: tuple[str, ...], schemas: TableSchemas
) -> ItemAccess | None:
    """Returns the items of a call, or None for a Scan, a PartiQL statement or a call that accesses no items.

    `leading_keys` contains the partition key of a Query. Other operations do not use it.
    """
    if operation == "Query":
        return ItemAccess(CallShape.SINGLE, reads=(_query(call, leading_keys[0], schemas),))
    if operation in _READ_FINDERS:
        shape, find_reads = _READ_FINDERS[operation]
        return ItemAccess(shape, reads=tuple(find_reads(call, schemas)))
    if operation in _WRITE_FINDERS:
        shape, find_writes = _WRITE_FINDERS[operation]
        return ItemAccess(shape, writes=tuple(find_writes(call, schemas)))
    return None


def _query(call: Parameters, partition_key: str, schemas: TableSchemas) -> ItemRead:
    table, index = table_name(call["TableName"]), call.get("IndexName")
    schema = schemas[table].indexes.get(str(index))
    partition = Partition(table, None if schema and schema.is_local else index, partition_key)
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
        yield _read(get["TableName"], get["Key"], get, schemas, consistent=True, unit_factor=TRANSACTION_FACTOR)


def _read(
    table: str, key: Item, call: Parameters, schemas: TableSchemas, *, consistent: bool, unit_factor: int = 1
) -> ItemRead:
    target = _target(table, key, schemas)
    return ItemRead(
        partition=target.partition,
        consistent=consistent,
        returns_whole_items=returns_whole_items(call),
        unit_factor=unit_factor,
        target=target,
    )


def _single_write_finder(kind: WriteKind) -> Callable[[Parameters, TableSchemas], Iterator[ItemWrite]]:
    def find_writes(call: Parameters, schemas: TableSchemas) -> Iterator[ItemWrite]:
        yield _write(kind, call, schemas)

    return find_writes


def _batch_write(call: Parameters, schemas: TableSchemas) -> Iterator[ItemWrite]:
    for table, writes in batch_writes(call):
        for kind, item in writes:
            yield _write(kind, {"TableName": table, "Item" if kind == "Put" else "Key": item}, schemas)


def _transact_write(call: Parameters, schemas: TableSchemas) -> Iterator[ItemWrite]:
    for kind, write in transaction_writes(call):
        yield _write(kind, write, schemas, unit_factor=TRANSACTION_FACTOR)


def _write(kind: WriteKind, call: Parameters, schemas: TableSchemas, *, unit_factor: int = 1) -> ItemWrite:
    item = call["Item"] if kind == "Put" else None
    return ItemWrite(
        target=_target(call["TableName"], call["Key"] if item is None else item, schemas),
        kind=kind,
        item=item,
        changes=tuple(attribute_changes(call)) if kind == "Update" else (),
        unit_factor=unit_factor,
    )


def _target(name_or_arn: str, item: Item, schemas: TableSchemas) -> ItemKey:
    table = table_name(name_or_arn)
    return ItemKey(table, schemas[table], schemas[table].key_of(item))


_READ_FINDERS: Mapping[str, tuple[CallShape, Callable[[Parameters, TableSchemas], Iterator[ItemRead]]]] = {
    "GetItem": (CallShape.SINGLE, _get),
    "BatchGetItem": (CallShape.BATCH, _batch_get),
    "TransactGetItems": (CallShape.TRANSACTION, _transact_get),
}
_WRITE_FINDERS: Mapping[str, tuple[CallShape, Callable[[Parameters, TableSchemas], Iterator[ItemWrite]]]] = {
    "PutItem": (CallShape.SINGLE, _single_write_finder("Put")),
    "UpdateItem": (CallShape.SINGLE, _single_write_finder("Update")),
    "DeleteItem": (CallShape.SINGLE, _single_write_finder("Delete")),
    "BatchWriteItem": (CallShape.BATCH, _batch_write),
    "TransactWriteItems": (CallShape.TRANSACTION, _transact_write),
}
