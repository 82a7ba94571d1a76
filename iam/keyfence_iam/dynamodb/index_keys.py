"""What a call writes into the attributes that lead an index; IAM looks at none of it."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from keyfence_iam.dynamodb import operations
from keyfence_iam.dynamodb.attributes import resolve
from keyfence_iam.dynamodb.calls import StatementCall, batch_writes, statement_calls, transaction_writes
from keyfence_iam.dynamodb.expressions.expression import parse_update
from keyfence_iam.dynamodb.expressions.grammar import LiteralValue, Node, Parameter
from keyfence_iam.dynamodb.parameters import (
    Parameters,
    UnsupportedRequest,
    array,
    as_mapping,
    attributes,
    mapping,
    optional_mapping,
    string,
)
from keyfence_iam.dynamodb.table_schema import TableSchema

WrittenKey = tuple[str, str | None]
"""An attribute and its new value: None where it is not a text, or is not known before it is stored."""

Known = Callable[[str], frozenset[str]]
"""A table, by its name or ARN, to the attributes that lead its indexes."""


def index_keys_written(
    operation: str, parameters: Mapping[str, Any], keys: Mapping[str, TableSchema]
) -> Iterator[WrittenKey]:
    """Of every form of write; calls that write nothing yield nothing."""
    writer = _WRITERS.get(operation)
    return iter(()) if writer is None else writer(parameters, _known(keys))


def _known(keys: Mapping[str, TableSchema]) -> Known:
    def known(named: str) -> frozenset[str]:
        table = keys.get(named.rpartition("/")[2])
        if table is None:
            raise UnsupportedRequest("unknown table")
        return table.index_partition_attributes()

    return known


def _put(call: Parameters, known: Known) -> Iterator[WrittenKey]:
    return _item(attributes(call, "Item"), known(string(call, "TableName")))


def _item(item: Mapping[str, Any], watched: frozenset[str]) -> Iterator[WrittenKey]:
    return ((name, _text(item[name])) for name in item if name in watched)


def _update(call: Parameters, known: Known) -> Iterator[WrittenKey]:
    watched = known(string(call, "TableName"))
    if call.get("UpdateExpression") is not None:
        yield from (stored for stored in _expressed(call) if stored[0] in watched)
    for name, change in optional_mapping(call, "AttributeUpdates").items():
        if name in watched and as_mapping(change, name).get("Action") != "DELETE":
            yield name, _text(change.get("Value")) if change.get("Action", "PUT") == "PUT" else None


def _expressed(call: Parameters) -> Iterator[WrittenKey]:
    values = optional_mapping(call, "ExpressionAttributeValues")
    for one in parse_update(string(call, "UpdateExpression")).assignments:
        yield resolve(one.attribute, call), _text(values.get(one.placeholder)) if one.placeholder else None


def _batch(call: Parameters, known: Known) -> Iterator[WrittenKey]:
    for named in mapping(call, "RequestItems"):
        for kind, item in batch_writes(array(mapping(call, "RequestItems"), named)):
            if kind == "Item":
                yield from _item(item, known(named))


def _transaction(call: Parameters, known: Known) -> Iterator[WrittenKey]:
    for kind, write in transaction_writes(call):
        if kind in {"Put", "Update"}:
            yield from (_put if kind == "Put" else _update)(write, known)


def _statement(call: Parameters, known: Known) -> Iterator[WrittenKey]:
    return _executed(StatementCall.parse(call), known)


def _statements(name: str, allowed: frozenset[str]) -> Callable[[Parameters, Known], Iterator[WrittenKey]]:
    def read(call: Parameters, known: Known) -> Iterator[WrittenKey]:
        for execution in statement_calls(call, name, allowed):
            yield from _executed(execution, known)

    return read


def _executed(execution: StatementCall, known: Known) -> Iterator[WrittenKey]:
    watched = known(execution.statement.table)
    for path, value in execution.statement.assignments:
        if path.attribute in watched:
            yield path.attribute, None if path.nested else _literal(execution, value)


def _literal(execution: StatementCall, value: Node) -> str | None:
    if isinstance(value, Parameter):
        return _text(execution.parameters[value.position])
    return value.text if isinstance(value, LiteralValue) else None


def _text(value: object) -> str | None:
    found = value.get("S") if isinstance(value, Mapping) and len(value) == 1 else None
    return found if isinstance(found, str) else None


_WRITERS: Mapping[str, Callable[[Parameters, Known], Iterator[WrittenKey]]] = {
    "PutItem": _put,
    "UpdateItem": _update,
    "BatchWriteItem": _batch,
    "TransactWriteItems": _transaction,
    "ExecuteStatement": _statement,
    "BatchExecuteStatement": _statements("Statements", operations.BATCHED_STATEMENT),
    "ExecuteTransaction": _statements("TransactStatements", operations.TRANSACTED_STATEMENT),
}
