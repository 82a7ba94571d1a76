"""The values that a call writes into partition keys of indexes. IAM itself checks only the table's partition key."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from keyfence_iam.dynamodb import operations
from keyfence_iam.dynamodb.attributes import resolve_name
from keyfence_iam.dynamodb.batch_and_transaction_parts import (
    StatementCall,
    batch_writes,
    statement_calls,
    transaction_writes,
)
from keyfence_iam.dynamodb.expressions.expression_parser import parse_update
from keyfence_iam.dynamodb.expressions.grammar import LiteralValue, Node, Parameter
from keyfence_iam.dynamodb.request_parameters import (
    Parameters,
    UnsupportedRequest,
    as_mapping,
    attributes,
    optional_mapping,
    string,
)
from keyfence_iam.dynamodb.table_schema import TableSchema, table_name

WrittenKey = tuple[str, str | None]
"""An attribute and its new value. The value is None if it is not a string, or if DynamoDB computes it."""

IndexKeysOfTable = Callable[[str], frozenset[str]]
"""A function that returns the index partition keys of a table, given the table's name or ARN."""


def index_keys_written(
    operation: str, parameters: Mapping[str, Any], schemas: Mapping[str, TableSchema]
) -> Iterator[WrittenKey]:
    """Yields the index partition keys that a call writes. An operation that writes no items yields nothing.

    Raises UnsupportedRequest if a table is missing in `schemas`.
    """
    find_keys = _KEY_FINDERS.get(operation)
    return iter(()) if find_keys is None else find_keys(parameters, _index_keys_lookup(schemas))


def _index_keys_lookup(schemas: Mapping[str, TableSchema]) -> IndexKeysOfTable:
    def index_keys_of(name_or_arn: str) -> frozenset[str]:
        schema = schemas.get(table_name(name_or_arn))
        if schema is None:
            raise UnsupportedRequest("unknown table")
        return schema.index_partition_attributes()

    return index_keys_of


def _put(call: Parameters, index_keys_of: IndexKeysOfTable) -> Iterator[WrittenKey]:
    return _item_keys(attributes(call, "Item"), index_keys_of(string(call, "TableName")))


def _item_keys(item: Mapping[str, Any], index_keys: frozenset[str]) -> Iterator[WrittenKey]:
    return ((name, _string_value(item[name])) for name in item if name in index_keys)


def _update(call: Parameters, index_keys_of: IndexKeysOfTable) -> Iterator[WrittenKey]:
    index_keys = index_keys_of(string(call, "TableName"))
    if call.get("UpdateExpression") is not None:
        yield from ((name, value) for name, value in _expression_assignments(call) if name in index_keys)
    for name, change in optional_mapping(call, "AttributeUpdates").items():
        if name in index_keys and as_mapping(change, name).get("Action") != "DELETE":
            is_put = change.get("Action", "PUT") == "PUT"
            yield name, _string_value(change.get("Value")) if is_put else None


def _expression_assignments(call: Parameters) -> Iterator[WrittenKey]:
    values = optional_mapping(call, "ExpressionAttributeValues")
    for assignment in parse_update(string(call, "UpdateExpression")).assignments:
        placeholder = assignment.placeholder
        value = _string_value(values.get(placeholder)) if placeholder else None
        yield resolve_name(assignment.attribute, call), value


def _batch(call: Parameters, index_keys_of: IndexKeysOfTable) -> Iterator[WrittenKey]:
    for table, writes in batch_writes(call):
        for kind, item in writes:
            if kind == "Put":
                yield from _item_keys(item, index_keys_of(table))


def _transaction(call: Parameters, index_keys_of: IndexKeysOfTable) -> Iterator[WrittenKey]:
    for kind, write in transaction_writes(call):
        if kind in {"Put", "Update"}:
            yield from (_put if kind == "Put" else _update)(write, index_keys_of)


def _statement(call: Parameters, index_keys_of: IndexKeysOfTable) -> Iterator[WrittenKey]:
    return _statement_keys(StatementCall.parse(call), index_keys_of)


def _statement_list_finder(
    name: str, known_members: frozenset[str]
) -> Callable[[Parameters, IndexKeysOfTable], Iterator[WrittenKey]]:
    def find_keys(call: Parameters, index_keys_of: IndexKeysOfTable) -> Iterator[WrittenKey]:
        for statement_call in statement_calls(call, name, known_members):
            yield from _statement_keys(statement_call, index_keys_of)

    return find_keys


def _statement_keys(call: StatementCall, index_keys_of: IndexKeysOfTable) -> Iterator[WrittenKey]:
    index_keys = index_keys_of(call.statement.table)
    for path, value in call.statement.assignments:
        if path.attribute in index_keys:
            yield path.attribute, None if path.is_nested else _statement_value(call, value)


def _statement_value(call: StatementCall, node: Node) -> str | None:
    if isinstance(node, Parameter):
        return _string_value(call.parameters[node.position])
    return node.text if isinstance(node, LiteralValue) else None


def _string_value(value: object) -> str | None:
    """Returns the text of an attribute value, or None if it is not a string."""
    text = value.get("S") if isinstance(value, Mapping) and len(value) == 1 else None
    return text if isinstance(text, str) else None


_KEY_FINDERS: Mapping[str, Callable[[Parameters, IndexKeysOfTable], Iterator[WrittenKey]]] = {
    "PutItem": _put,
    "UpdateItem": _update,
    "BatchWriteItem": _batch,
    "TransactWriteItems": _transaction,
    "ExecuteStatement": _statement,
    "BatchExecuteStatement": _statement_list_finder("Statements", operations.BATCHED_STATEMENT_MEMBERS),
    "ExecuteTransaction": _statement_list_finder("TransactStatements", operations.TRANSACTED_STATEMENT_MEMBERS),
}
