"""Values that a call writes into the partition keys of indexes. IAM does not check these."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from keyfence_iam.dynamodb import operations
from keyfence_iam.dynamodb.attributes import resolve
from keyfence_iam.dynamodb.call_parts import StatementCall, batch_writes, statement_calls, transaction_writes
from keyfence_iam.dynamodb.expressions.expression_parser import parse_update
from keyfence_iam.dynamodb.expressions.grammar import LiteralValue, Node, Parameter
from keyfence_iam.dynamodb.parameters import (
    Parameters,
    UnsupportedRequest,
    as_mapping,
    attributes,
    optional_mapping,
    string,
)
from keyfence_iam.dynamodb.table_schema import TableSchema

WrittenKey = tuple[str, str | None]
"""An attribute and its new value. None if the value is not a string, or if it is not known before the write."""

IndexKeys = Callable[[str], frozenset[str]]
"""Returns the index partition keys of a table, given its name or ARN."""


def index_keys_written(
    operation: str, parameters: Mapping[str, Any], schemas: Mapping[str, TableSchema]
) -> Iterator[WrittenKey]:
    """Yield what any kind of write puts into index partition keys. Other operations yield nothing."""
    writer = _WRITERS.get(operation)
    return iter(()) if writer is None else writer(parameters, _index_keys(schemas))


def _index_keys(schemas: Mapping[str, TableSchema]) -> IndexKeys:
    def index_keys(table: str) -> frozenset[str]:
        schema = schemas.get(table.rpartition("/")[2])
        if schema is None:
            raise UnsupportedRequest("unknown table")
        return schema.index_partition_attributes()

    return index_keys


def _put(call: Parameters, index_keys: IndexKeys) -> Iterator[WrittenKey]:
    return _item(attributes(call, "Item"), index_keys(string(call, "TableName")))


def _item(item: Mapping[str, Any], keys: frozenset[str]) -> Iterator[WrittenKey]:
    return ((name, _text(item[name])) for name in item if name in keys)


def _update(call: Parameters, index_keys: IndexKeys) -> Iterator[WrittenKey]:
    keys = index_keys(string(call, "TableName"))
    if call.get("UpdateExpression") is not None:
        yield from (written for written in _update_expression(call) if written[0] in keys)
    for name, change in optional_mapping(call, "AttributeUpdates").items():
        if name in keys and as_mapping(change, name).get("Action") != "DELETE":
            yield name, _text(change.get("Value")) if change.get("Action", "PUT") == "PUT" else None


def _update_expression(call: Parameters) -> Iterator[WrittenKey]:
    values = optional_mapping(call, "ExpressionAttributeValues")
    for one in parse_update(string(call, "UpdateExpression")).assignments:
        yield resolve(one.attribute, call), _text(values.get(one.placeholder)) if one.placeholder else None


def _batch(call: Parameters, index_keys: IndexKeys) -> Iterator[WrittenKey]:
    for table, writes in batch_writes(call):
        for kind, item in writes:
            if kind == "Put":
                yield from _item(item, index_keys(table))


def _transaction(call: Parameters, index_keys: IndexKeys) -> Iterator[WrittenKey]:
    for kind, write in transaction_writes(call):
        if kind in {"Put", "Update"}:
            yield from (_put if kind == "Put" else _update)(write, index_keys)


def _statement(call: Parameters, index_keys: IndexKeys) -> Iterator[WrittenKey]:
    return _assignments(StatementCall.parse(call), index_keys)


def _statements(name: str, members: frozenset[str]) -> Callable[[Parameters, IndexKeys], Iterator[WrittenKey]]:
    def write(call: Parameters, index_keys: IndexKeys) -> Iterator[WrittenKey]:
        for statement_call in statement_calls(call, name, members):
            yield from _assignments(statement_call, index_keys)

    return write


def _assignments(call: StatementCall, index_keys: IndexKeys) -> Iterator[WrittenKey]:
    keys = index_keys(call.statement.table)
    for path, value in call.statement.assignments:
        if path.attribute in keys:
            yield path.attribute, None if path.nested else _value(call, value)


def _value(call: StatementCall, node: Node) -> str | None:
    if isinstance(node, Parameter):
        return _text(call.parameters[node.position])
    return node.text if isinstance(node, LiteralValue) else None


def _text(value: object) -> str | None:
    text = value.get("S") if isinstance(value, Mapping) and len(value) == 1 else None
    return text if isinstance(text, str) else None


_WRITERS: Mapping[str, Callable[[Parameters, IndexKeys], Iterator[WrittenKey]]] = {
    "PutItem": _put,
    "UpdateItem": _update,
    "BatchWriteItem": _batch,
    "TransactWriteItems": _transaction,
    "ExecuteStatement": _statement,
    "BatchExecuteStatement": _statements("Statements", operations.BATCHED_STATEMENT),
    "ExecuteTransaction": _statements("TransactStatements", operations.TRANSACTED_STATEMENT),
}
