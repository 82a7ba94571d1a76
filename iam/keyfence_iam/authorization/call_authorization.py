"""The authorization requests that a DynamoDB call needs."""

from collections.abc import Iterable, Mapping
from typing import Any

from keyfence_iam.authorization import item_operations, partiql_operations, table_operations
from keyfence_iam.authorization.named_tables import ArnScope, AuthorizationBuilder, NamedTables
from keyfence_iam.authorization.undocumented_request_context import DISCLOSURE_ORDER
from keyfence_iam.dynamodb import operations
from keyfence_iam.dynamodb.parameters import Parameters, UnsupportedRequest, as_mapping, reject_unknown
from keyfence_iam.dynamodb.table_schema import TableSchema
from keyfence_iam.evaluator.request import AuthorizationRequest, ContextValue

_BUILDERS: Mapping[str, AuthorizationBuilder] = {
    "GetItem": item_operations.get_item,
    "BatchGetItem": item_operations.batch_get_item,
    "Query": item_operations.query,
    "Scan": item_operations.scan,
    "PutItem": item_operations.put_item,
    "UpdateItem": item_operations.update_item,
    "DeleteItem": item_operations.delete_item,
    "BatchWriteItem": item_operations.batch_write_item,
    "TransactGetItems": item_operations.transact_get_items,
    "TransactWriteItems": item_operations.transact_write_items,
    "ExecuteStatement": partiql_operations.execute_statement,
    "BatchExecuteStatement": partiql_operations.batch_execute_statement,
    "ExecuteTransaction": partiql_operations.execute_transaction,
    **table_operations.TABLE_OPERATIONS,
    **table_operations.STREAM_OPERATIONS,
}
_MERGED_OPERATIONS = frozenset({"BatchGetItem", "BatchWriteItem", "BatchExecuteStatement", "ExecuteTransaction"})
_FULL_TABLE_SCAN = "dynamodb:FullTableScan"
_ANY_SCOPE = ArnScope(account="0" * 12, region="nowhere")

SUPPORTED_OPERATIONS = frozenset(_BUILDERS)


class UnknownTable(UnsupportedRequest):
    """The call names tables whose schema is not known. `requests` are complete except for their leading keys."""

    def __init__(self, tables: frozenset[str], requests: tuple[AuthorizationRequest, ...]) -> None:
        super().__init__(f"unknown table: {', '.join(sorted(tables))}")
        self.tables = tables
        self.requests = requests


def authorizations_for(
    operation: str, parameters: Mapping[str, Any], scope: ArnScope, schemas: Mapping[str, TableSchema]
) -> tuple[AuthorizationRequest, ...]:
    """Return the authorization requests of a call. All of them must be allowed.

    Raises UnsupportedRequest if it is not certain what the call needs, also if it would need nothing.
    """
    if operation not in _BUILDERS:
        raise UnsupportedRequest(f"unknown operation {operation!r}")
    tables = NamedTables(scope, schemas)
    requests = tuple(_BUILDERS[operation](_checked(operation, parameters), tables))
    if not requests:
        raise UnsupportedRequest(f"{operation} names no table")
    merged = merge_batch(requests) if operation in _MERGED_OPERATIONS else requests
    if tables.unknown:
        raise UnknownTable(frozenset(tables.unknown), merged)
    return merged


def tables_needed(operation: str, parameters: Mapping[str, Any]) -> frozenset[str]:
    """Return the names of the tables whose schema `authorizations_for` needs."""
    try:
        authorizations_for(operation, parameters, _ANY_SCOPE, {})
    except UnknownTable as unknown:
        return frozenset(name.rpartition("/")[2] for name in unknown.tables)
    return frozenset()


def merge_batch(requests: Iterable[AuthorizationRequest]) -> tuple[AuthorizationRequest, ...]:
    """Merge requests with the same action and resource.

    A full table scan is not merged with others: merged, it would seem to have their leading keys.
    """
    merged: dict[tuple[str, str, ContextValue | None], AuthorizationRequest] = {}
    for request in requests:
        group = (request.action, request.resource, request.context.get(_FULL_TABLE_SCAN))
        merged[group] = _merge(merged[group], request) if group in merged else request
    return tuple(merged.values())


def _merge(one: AuthorizationRequest, other: AuthorizationRequest) -> AuthorizationRequest:
    context = dict(one.context)
    for key, value in other.context.items():
        context[key] = _merge_values(key, context.get(key, value), value)
    return AuthorizationRequest(one.action, one.resource, context)


def _merge_values(key: str, one: ContextValue, other: ContextValue) -> ContextValue:
    """Return all values of a multivalued key, or the value that discloses most."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        return tuple(dict.fromkeys((*one, *other)))
    order = DISCLOSURE_ORDER.get(key)
    return one if order is None else max(one, other, key=lambda value: order[str(value)])


def _checked(operation: str, parameters: object) -> Parameters:
    call = as_mapping(parameters, operation)
    if operation in operations.PARAMETERS:
        reject_unknown(call, operations.PARAMETERS[operation], operation)
    return call
