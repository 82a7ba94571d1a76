"""A call to its authorization requests; batches merged; unknown tables."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from keyfence_iam.authorization import item_operations as items
from keyfence_iam.authorization import partiql_operations as statements
from keyfence_iam.authorization import table_operations as tables_module
from keyfence_iam.authorization.arns import ArnScope, NamedTables
from keyfence_iam.authorization.undocumented_behavior import DISCLOSURE_ORDER
from keyfence_iam.dynamodb import operations
from keyfence_iam.dynamodb.parameters import Parameters, UnsupportedRequest, as_mapping, reject_unknown
from keyfence_iam.dynamodb.table_schema import TableSchema
from keyfence_iam.evaluator.request import AuthorizationRequest, ContextValue

_SCAN = "dynamodb:FullTableScan"


def merge_batch(asked: Iterable[AuthorizationRequest]) -> tuple[AuthorizationRequest, ...]:
    """By action and resource. A scan stays by itself: beside others its lack of leading keys would not be seen."""
    groups: dict[tuple[str, str, ContextValue | None], AuthorizationRequest] = {}
    for one in asked:
        group = (one.action, one.resource, one.context.get(_SCAN))
        groups[group] = _both(groups[group], one) if group in groups else one
    return tuple(groups.values())


def _both(one: AuthorizationRequest, other: AuthorizationRequest) -> AuthorizationRequest:
    context = dict(one.context)
    for key, value in other.context.items():
        context[key] = _wider(key, context.get(key, value), value)
    return AuthorizationRequest(one.action, one.resource, context)


def _wider(key: str, one: ContextValue, other: ContextValue) -> ContextValue:
    if isinstance(one, tuple) and isinstance(other, tuple):
        return tuple(dict.fromkeys((*one, *other)))
    width = DISCLOSURE_ORDER.get(key)
    return one if width is None else max(one, other, key=lambda value: width[str(value)])


class UnknownTable(UnsupportedRequest):
    """Tables without a known key schema; `asked` is complete but for the leading keys of these."""

    def __init__(self, tables: frozenset[str], asked: tuple[AuthorizationRequest, ...]) -> None:
        super().__init__(f"unknown table: {', '.join(sorted(tables))}")
        self.tables = tables
        self.requests = asked


AuthorizationBuilder = Callable[[Parameters, NamedTables], Iterator[AuthorizationRequest]]

_OPERATIONS: Mapping[str, AuthorizationBuilder] = {
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
    **tables_module.TABLE_OPERATIONS,
}
_TOGETHER = frozenset({"BatchGetItem", "BatchWriteItem", "BatchExecuteStatement", "ExecuteTransaction"})
_NOWHERE = ArnScope(account="0" * 12, region="nowhere")

SUPPORTED_OPERATIONS = frozenset(_OPERATIONS)


def authorizations_for(
    operation: str, parameters: Mapping[str, Any], scope: ArnScope, schemas: Mapping[str, TableSchema]
) -> tuple[AuthorizationRequest, ...]:
    """All of them have to be allowed. A call that would ask for nothing is not understood."""
    if operation not in _OPERATIONS:
        raise UnsupportedRequest(f"unknown operation {operation!r}")
    tables = NamedTables(scope, schemas)
    asked = tuple(_OPERATIONS[operation](_known(operation, parameters), tables))
    if not asked:
        raise UnsupportedRequest(f"{operation} names nothing")
    together = merge_batch(asked) if operation in _TOGETHER else asked
    if tables.unknown:
        raise UnknownTable(frozenset(tables.unknown), together)
    return together


def tables_needed(operation: str, parameters: Mapping[str, Any]) -> frozenset[str]:
    """The names of the tables whose keys have to be known before the call can be expanded."""
    try:
        authorizations_for(operation, parameters, _NOWHERE, {})
    except UnknownTable as unknown:
        return frozenset(name.rpartition("/")[2] for name in unknown.tables)
    return frozenset()


def _known(operation: str, parameters: object) -> Parameters:
    call = as_mapping(parameters, operation)
    if operation in operations.PARAMETERS:
        reject_unknown(call, operations.PARAMETERS[operation], operation)
    return call
