"""A call to its authorization requests; batches merged; unknown tables."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from keyfence_iam.authorization import items, statements
from keyfence_iam.authorization import tables as tables_module
from keyfence_iam.authorization.arns import Place, Tables
from keyfence_iam.authorization.assumptions import WIDTH
from keyfence_iam.dynamodb import operations
from keyfence_iam.dynamodb.parameters import Holder, NotUnderstood, as_mapping, only
from keyfence_iam.dynamodb.table_schema import TableKeys
from keyfence_iam.evaluator.request import Authorisation, Value

_SCAN = "dynamodb:FullTableScan"


def union(asked: Iterable[Authorisation]) -> tuple[Authorisation, ...]:
    """By action and resource. A scan stays by itself: beside others its lack of leading keys would not be seen."""
    groups: dict[tuple[str, str, Value | None], Authorisation] = {}
    for one in asked:
        group = (one.action, one.resource, one.context.get(_SCAN))
        groups[group] = _both(groups[group], one) if group in groups else one
    return tuple(groups.values())


def _both(one: Authorisation, other: Authorisation) -> Authorisation:
    context = dict(one.context)
    for key, value in other.context.items():
        context[key] = _wider(key, context.get(key, value), value)
    return Authorisation(one.action, one.resource, context)


def _wider(key: str, one: Value, other: Value) -> Value:
    if isinstance(one, tuple) and isinstance(other, tuple):
        return tuple(dict.fromkeys((*one, *other)))
    width = WIDTH.get(key)
    return one if width is None else max(one, other, key=lambda value: width[str(value)])


class UnknownTable(NotUnderstood):
    """Tables without a known key schema; `asked` is complete but for the leading keys of these."""

    def __init__(self, tables: frozenset[str], asked: tuple[Authorisation, ...]) -> None:
        super().__init__(f"unknown table: {', '.join(sorted(tables))}")
        self.tables = tables
        self.asked = asked


Expander = Callable[[Holder, Tables], Iterator[Authorisation]]

_OPERATIONS: Mapping[str, Expander] = {
    "GetItem": items.get_item,
    "BatchGetItem": items.batch_get_item,
    "Query": items.query,
    "Scan": items.scan,
    "PutItem": items.put_item,
    "UpdateItem": items.update_item,
    "DeleteItem": items.delete_item,
    "BatchWriteItem": items.batch_write_item,
    "TransactGetItems": items.transact_get_items,
    "TransactWriteItems": items.transact_write_items,
    "ExecuteStatement": statements.execute_statement,
    "BatchExecuteStatement": statements.batch_execute_statement,
    "ExecuteTransaction": statements.execute_transaction,
    "ListStreams": tables_module.list_streams,
    "DescribeStream": tables_module.describe_stream,
    "GetShardIterator": tables_module.get_shard_iterator,
    "GetRecords": tables_module.get_records,
    **tables_module.OPERATIONS,
}
_TOGETHER = frozenset({"BatchGetItem", "BatchWriteItem", "BatchExecuteStatement", "ExecuteTransaction"})
_NOWHERE = Place(account="0" * 12, region="nowhere")

UNDERSTOOD = frozenset(_OPERATIONS)


def expand(
    operation: str, parameters: Mapping[str, Any], place: Place, keys: Mapping[str, TableKeys]
) -> tuple[Authorisation, ...]:
    """All of them have to be allowed. A call that would ask for nothing is not understood."""
    if operation not in _OPERATIONS:
        raise NotUnderstood(f"unknown operation {operation!r}")
    tables = Tables(place, keys)
    asked = tuple(_OPERATIONS[operation](_known(operation, parameters), tables))
    if not asked:
        raise NotUnderstood(f"{operation} names nothing")
    together = union(asked) if operation in _TOGETHER else asked
    if tables.unknown:
        raise UnknownTable(frozenset(tables.unknown), together)
    return together


def tables_named(operation: str, parameters: Mapping[str, Any]) -> frozenset[str]:
    """The names of the tables whose keys have to be known before the call can be expanded."""
    try:
        expand(operation, parameters, _NOWHERE, {})
    except UnknownTable as unknown:
        return frozenset(name.rpartition("/")[2] for name in unknown.tables)
    return frozenset()


def _known(operation: str, parameters: object) -> Holder:
    call = as_mapping(parameters, operation)
    if operation in operations.OPERATIONS:
        only(call, operations.OPERATIONS[operation], operation)
    return call
