"""What PartiQL statements ask for, alone, in batches and in transactions."""

from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from keyfence_iam.dynamodb import operations
from keyfence_iam.dynamodb.attributes import changes
from keyfence_iam.dynamodb.capacity import TRANSACTED, Partition
from keyfence_iam.dynamodb.costs import Read, Target, Verb, Write, shows_all
from keyfence_iam.dynamodb.expressions.grammar import Literal, Node, Parameter
from keyfence_iam.dynamodb.expressions.partiql import Statement, statement
from keyfence_iam.dynamodb.parameters import (
    Holder,
    NotUnderstood,
    as_mapping,
    attribute_value,
    attributes,
    key_text,
    listing,
    mapping,
    only,
    text,
)
from keyfence_iam.dynamodb.table_schema import Layout


@dataclass(frozen=True, slots=True)
class Execution:
    """A statement with the values of its parameters."""

    statement: Statement
    parameters: tuple[Mapping[str, Any], ...]

    @classmethod
    def of(cls, call: Holder) -> "Execution":
        given = [] if call.get("Parameters") is None else listing(call, "Parameters")
        found = cls(statement(text(call, "Statement")), tuple(attribute_value(one, "Parameters") for one in given))
        if len(given) != found.statement.parameters:
            raise NotUnderstood("the statement has another number of parameters")
        return found

    def text_of(self, node: Node) -> str:
        """The value of a partition key."""
        if isinstance(node, Parameter):
            return key_text(self.parameters[node.position])
        return key_text({"S": node.text} if isinstance(node, Literal) else {"M": {}})


def executions(call: Holder, name: str, known: frozenset[str]) -> Iterator[Execution]:
    for one in listing(call, name):
        only(as_mapping(one, name), known, name)
        yield Execution.of(one)


def transacted(call: Holder) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The kind and the parameters of every write, each of exactly one kind."""
    for one in listing(call, "TransactItems"):
        write = as_mapping(one, "TransactItems")
        if len(write) != 1 or not operations.TRANSACTED.keys() >= write.keys():
            raise NotUnderstood("a transacted write is one of Put, Update, Delete and ConditionCheck")
        (kind,) = write
        only(mapping(write, kind), operations.TRANSACTED[kind], kind)
        yield kind, write[kind]


def written(requests: list[Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """`Item` or `Key`, and its attributes, of every request in a batch."""
    for request in requests:
        match as_mapping(request, "a write request"):
            case {"PutRequest": put, **rest} if not rest:
                only(as_mapping(put, "PutRequest"), operations.PUT_REQUEST, "PutRequest")
                yield "Item", attributes(put, "Item")
            case {"DeleteRequest": delete, **rest} if not rest:
                only(as_mapping(delete, "DeleteRequest"), operations.DELETE_REQUEST, "DeleteRequest")
                yield "Key", attributes(delete, "Key")
            case _:
                raise NotUnderstood("a write request is either a PutRequest or a DeleteRequest")


Layouts = Mapping[str, Layout]


class Shape(Enum):
    """How a call takes it when a part of it is turned away: it ends, it goes on without that part, it is cancelled."""

    SINGLE = "single"
    BATCH = "batch"
    TRANSACTION = "transaction"


@dataclass(frozen=True, slots=True)
class Asked:
    """Either reads or writes."""

    shape: Shape
    reads: tuple[Read, ...] = ()
    writes: tuple[Write, ...] = ()

    @property
    def looked_at(self) -> tuple[Target, ...]:
        """The items whose sizes have to be known and are not told by an answer."""
        hidden = (read.target for read in self.reads if not read.whole)
        return (*(write.target for write in self.writes), *(target for target in hidden if target is not None))

    @property
    def parts(self) -> tuple[Read, ...] | tuple[Write, ...]:
        return self.reads or self.writes

    def without(self, numbers: Container[int]) -> "Asked":
        return replace(
            self,
            reads=tuple(read for number, read in enumerate(self.reads) if number not in numbers),
            writes=tuple(write for number, write in enumerate(self.writes) if number not in numbers),
        )


def table_name(named: str) -> str:
    """A table may be called by its ARN."""
    return named.rpartition("/")[2]


def asked(operation: str, call: Holder, leading: tuple[str, ...], layouts: Layouts) -> Asked | None:
    """None for calls that read and write no items, and for those that do it in ways that no role of ours has."""
    if operation == "Query":
        return Asked(Shape.SINGLE, reads=(_query(call, leading[0], layouts),))
    reader = _READS.get(operation)
    if reader is not None:
        return Asked(reader[0], reads=tuple(reader[1](call, layouts)))
    writer = _WRITES.get(operation)
    return None if writer is None else Asked(writer[0], writes=tuple(writer[1](call, layouts)))


def _query(call: Holder, key: str, layouts: Layouts) -> Read:
    table, index = table_name(call["TableName"]), call.get("IndexName")
    known = layouts[table].indexes.get(str(index))
    partition = Partition(table, None if known and known.local else index, key)
    return Read(partition=partition, consistent=bool(call.get("ConsistentRead")), whole=shows_all(call))


def _get(call: Holder, layouts: Layouts) -> Iterator[Read]:
    yield _key_read(call["TableName"], call["Key"], call, layouts, consistent=bool(call.get("ConsistentRead")))


def _batch_get(call: Holder, layouts: Layouts) -> Iterator[Read]:
    for named, entry in call["RequestItems"].items():
        for key in entry["Keys"]:
            yield _key_read(named, key, entry, layouts, consistent=bool(entry.get("ConsistentRead")))


def _transact_get(call: Holder, layouts: Layouts) -> Iterator[Read]:
    for one in call["TransactItems"]:
        get = one["Get"]
        yield _key_read(get["TableName"], get["Key"], get, layouts, consistent=True, factor=TRANSACTED)


def _key_read(
    named: str, key: Mapping[str, Any], call: Holder, layouts: Layouts, *, consistent: bool, factor: int = 1
) -> Read:
    target = _target(named, key, layouts)
    whole = shows_all(call)
    return Read(partition=target.partition, consistent=consistent, whole=whole, factor=factor, target=target)


def _single(verb: Verb) -> Callable[[Holder, Layouts], Iterator[Write]]:
    def read(call: Holder, layouts: Layouts) -> Iterator[Write]:
        yield _write(verb, call, layouts)

    return read


def _batch_write(call: Holder, layouts: Layouts) -> Iterator[Write]:
    for named, requests in call["RequestItems"].items():
        for kind, item in written(requests):
            verb: Verb = "Put" if kind == "Item" else "Delete"
            yield _write(verb, {"TableName": named, kind: item}, layouts)


def _transact_write(call: Holder, layouts: Layouts) -> Iterator[Write]:
    for kind, write in transacted(call):
        yield _write(_VERBS[kind], write, layouts, factor=TRANSACTED)


def _write(verb: Verb, call: Holder, layouts: Layouts, *, factor: int = 1) -> Write:
    item = call["Item"] if verb == "Put" else None
    return Write(
        target=_target(call["TableName"], call["Key"] if item is None else item, layouts),
        verb=verb,
        item=item,
        changes=tuple(changes(call)) if verb == "Update" else (),
        factor=factor,
    )


def _target(named: str, item: Mapping[str, Any], layouts: Layouts) -> Target:
    layout = layouts[table_name(named)]
    return Target(table_name(named), layout, layout.key_of(item))


_VERBS: Mapping[str, Verb] = {
    "Put": "Put",
    "Update": "Update",
    "Delete": "Delete",
    "ConditionCheck": "ConditionCheck",
}
_READS: Mapping[str, tuple[Shape, Callable[[Holder, Layouts], Iterator[Read]]]] = {
    "GetItem": (Shape.SINGLE, _get),
    "BatchGetItem": (Shape.BATCH, _batch_get),
    "TransactGetItems": (Shape.TRANSACTION, _transact_get),
}
_WRITES: Mapping[str, tuple[Shape, Callable[[Holder, Layouts], Iterator[Write]]]] = {
    "PutItem": (Shape.SINGLE, _single("Put")),
    "UpdateItem": (Shape.SINGLE, _single("Update")),
    "DeleteItem": (Shape.SINGLE, _single("Delete")),
    "BatchWriteItem": (Shape.BATCH, _batch_write),
    "TransactWriteItems": (Shape.TRANSACTION, _transact_write),
}
