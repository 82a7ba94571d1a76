"""What PartiQL statements ask for, alone, in batches and in transactions."""

from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from keyfence_iam.dynamodb import operations
from keyfence_iam.dynamodb.attributes import attribute_changes
from keyfence_iam.dynamodb.capacity import TRANSACTION_FACTOR, Partition
from keyfence_iam.dynamodb.costs import ItemKey, ItemRead, ItemWrite, WriteKind, returns_whole_items
from keyfence_iam.dynamodb.expressions.grammar import LiteralValue, Node, Parameter
from keyfence_iam.dynamodb.expressions.partiql import PartiQLStatement, parse_statement
from keyfence_iam.dynamodb.parameters import (
    Parameters,
    UnsupportedRequest,
    array,
    as_mapping,
    attribute_value,
    attributes,
    key_string,
    mapping,
    reject_unknown,
    string,
)
from keyfence_iam.dynamodb.table_schema import TableSchema


@dataclass(frozen=True, slots=True)
class StatementCall:
    """A statement with the values of its parameters."""

    statement: PartiQLStatement
    parameters: tuple[Mapping[str, Any], ...]

    @classmethod
    def parse(cls, call: Parameters) -> "StatementCall":
        given = [] if call.get("Parameters") is None else array(call, "Parameters")
        found = cls(
            parse_statement(string(call, "Statement")), tuple(attribute_value(one, "Parameters") for one in given)
        )
        if len(given) != found.statement.parameter_count:
            raise UnsupportedRequest("the statement has another number of parameters")
        return found

    def key_string(self, node: Node) -> str:
        """The value of a partition key."""
        if isinstance(node, Parameter):
            return key_string(self.parameters[node.position])
        return key_string({"S": node.text} if isinstance(node, LiteralValue) else {"M": {}})


def statement_calls(call: Parameters, name: str, known: frozenset[str]) -> Iterator[StatementCall]:
    for one in array(call, name):
        reject_unknown(as_mapping(one, name), known, name)
        yield StatementCall.parse(one)


def transaction_writes(call: Parameters) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The kind and the parameters of every write, each of exactly one kind."""
    for one in array(call, "TransactItems"):
        write = as_mapping(one, "TransactItems")
        if len(write) != 1 or not operations.TRANSACTION_PARAMETERS.keys() >= write.keys():
            raise UnsupportedRequest("a transacted write is one of Put, Update, Delete and ConditionCheck")
        (kind,) = write
        reject_unknown(mapping(write, kind), operations.TRANSACTION_PARAMETERS[kind], kind)
        yield kind, write[kind]


def batch_writes(requests: list[Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """`Item` or `Key`, and its attributes, of every request in a batch."""
    for request in requests:
        match as_mapping(request, "a write request"):
            case {"PutRequest": put, **rest} if not rest:
                reject_unknown(as_mapping(put, "PutRequest"), operations.PUT_REQUEST, "PutRequest")
                yield "Item", attributes(put, "Item")
            case {"DeleteRequest": delete, **rest} if not rest:
                reject_unknown(as_mapping(delete, "DeleteRequest"), operations.DELETE_REQUEST, "DeleteRequest")
                yield "Key", attributes(delete, "Key")
            case _:
                raise UnsupportedRequest("a write request is either a PutRequest or a DeleteRequest")


TableSchemas = Mapping[str, TableSchema]


class CallShape(Enum):
    """How a call takes it when a part of it is turned away: it ends, it goes on without that part, it is cancelled."""

    SINGLE = "single"
    BATCH = "batch"
    TRANSACTION = "transaction"


@dataclass(frozen=True, slots=True)
class ItemAccess:
    """Either reads or writes."""

    shape: CallShape
    reads: tuple[ItemRead, ...] = ()
    writes: tuple[ItemWrite, ...] = ()

    @property
    def items_to_read(self) -> tuple[ItemKey, ...]:
        """The items whose sizes have to be known and are not told by an answer."""
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


def table_name(named: str) -> str:
    """A table may be called by its ARN."""
    return named.rpartition("/")[2]


def item_access(operation: str, call: Parameters, leading: tuple[str, ...], schemas: TableSchemas) -> ItemAccess | None:
    """None for calls that read and write no items, and for those that do it in ways that no role of ours has."""
    if operation == "Query":
        return ItemAccess(CallShape.SINGLE, reads=(_query(call, leading[0], schemas),))
    reader = _READS.get(operation)
    if reader is not None:
        return ItemAccess(reader[0], reads=tuple(reader[1](call, schemas)))
    writer = _WRITES.get(operation)
    return None if writer is None else ItemAccess(writer[0], writes=tuple(writer[1](call, schemas)))


def _query(call: Parameters, key: str, schemas: TableSchemas) -> ItemRead:
    table, index = table_name(call["TableName"]), call.get("IndexName")
    known = schemas[table].indexes.get(str(index))
    partition = Partition(table, None if known and known.local else index, key)
    return ItemRead(
        partition=partition, consistent=bool(call.get("ConsistentRead")), returns_whole_items=returns_whole_items(call)
    )


def _get(call: Parameters, schemas: TableSchemas) -> Iterator[ItemRead]:
    yield _key_read(call["TableName"], call["Key"], call, schemas, consistent=bool(call.get("ConsistentRead")))


def _batch_get(call: Parameters, schemas: TableSchemas) -> Iterator[ItemRead]:
    for named, entry in call["RequestItems"].items():
        for key in entry["Keys"]:
            yield _key_read(named, key, entry, schemas, consistent=bool(entry.get("ConsistentRead")))


def _transact_get(call: Parameters, schemas: TableSchemas) -> Iterator[ItemRead]:
    for one in call["TransactItems"]:
        get = one["Get"]
        yield _key_read(get["TableName"], get["Key"], get, schemas, consistent=True, factor=TRANSACTION_FACTOR)


def _key_read(
    named: str, key: Mapping[str, Any], call: Parameters, schemas: TableSchemas, *, consistent: bool, factor: int = 1
) -> ItemRead:
    target = _target(named, key, schemas)
    whole = returns_whole_items(call)
    return ItemRead(
        partition=target.partition, consistent=consistent, returns_whole_items=whole, factor=factor, target=target
    )


def _single(verb: WriteKind) -> Callable[[Parameters, TableSchemas], Iterator[ItemWrite]]:
    def read(call: Parameters, schemas: TableSchemas) -> Iterator[ItemWrite]:
        yield _write(verb, call, schemas)

    return read


def _batch_write(call: Parameters, schemas: TableSchemas) -> Iterator[ItemWrite]:
    for named, requests in call["RequestItems"].items():
        for kind, item in batch_writes(requests):
            verb: WriteKind = "Put" if kind == "Item" else "Delete"
            yield _write(verb, {"TableName": named, kind: item}, schemas)


def _transact_write(call: Parameters, schemas: TableSchemas) -> Iterator[ItemWrite]:
    for kind, write in transaction_writes(call):
        yield _write(_VERBS[kind], write, schemas, factor=TRANSACTION_FACTOR)


def _write(verb: WriteKind, call: Parameters, schemas: TableSchemas, *, factor: int = 1) -> ItemWrite:
    item = call["Item"] if verb == "Put" else None
    return ItemWrite(
        target=_target(call["TableName"], call["Key"] if item is None else item, schemas),
        kind=verb,
        item=item,
        changes=tuple(attribute_changes(call)) if verb == "Update" else (),
        factor=factor,
    )


def _target(named: str, item: Mapping[str, Any], schemas: TableSchemas) -> ItemKey:
    schema = schemas[table_name(named)]
    return ItemKey(table_name(named), schema, schema.key_of(item))


_VERBS: Mapping[str, WriteKind] = {
    "Put": "Put",
    "Update": "Update",
    "Delete": "Delete",
    "ConditionCheck": "ConditionCheck",
}
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
