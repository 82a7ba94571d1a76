"""The authorization requests that a DynamoDB call needs, for every supported operation."""

from collections.abc import Mapping
from typing import Any

from keyfence_iam.authorization import (
    batch_and_transaction_operations,
    item_operations,
    partiql_operations,
    table_operations,
)
from keyfence_iam.authorization.batch_and_transaction_operations import MERGED_OPERATIONS, merge_requests
from keyfence_iam.authorization.named_tables import ArnScope, AuthorizationBuilder, TableResolver
from keyfence_iam.dynamodb import operations
from keyfence_iam.dynamodb.request_parameters import Parameters, UnsupportedRequest, as_mapping, reject_unknown
from keyfence_iam.dynamodb.table_schema import TableSchema, table_name
from keyfence_iam.evaluator.request import AuthorizationRequest

_BUILDERS: Mapping[str, AuthorizationBuilder] = {
    "GetItem": item_operations.get_item,
    "Query": item_operations.query,
    "Scan": item_operations.scan,
    "PutItem": item_operations.put_item,
    "UpdateItem": item_operations.update_item,
    "DeleteItem": item_operations.delete_item,
    "BatchGetItem": batch_and_transaction_operations.batch_get_item,
    "BatchWriteItem": batch_and_transaction_operations.batch_write_item,
    "TransactGetItems": batch_and_transaction_operations.transact_get_items,
    "TransactWriteItems": batch_and_transaction_operations.transact_write_items,
    "ExecuteStatement": partiql_operations.execute_statement,
    "BatchExecuteStatement": partiql_operations.batch_execute_statement,
    "ExecuteTransaction": partiql_operations.execute_transaction,
    **table_operations.TABLE_OPERATION_BUILDERS,
    **table_operations.STREAM_OPERATION_BUILDERS,
}
_PLACEHOLDER_SCOPE = ArnScope(account="0" * 12, region="nowhere")
"""`tables_needed` returns names only. The account and the region of the ARNs do not matter there."""

SUPPORTED_OPERATIONS = frozenset(_BUILDERS)


class UnknownTable(UnsupportedRequest):
    """The call names tables whose schema is not known.

    `requests` are all requests of the call. Those for the unknown tables have no leading keys.
    """

    def __init__(self, tables: frozenset[str], requests: tuple[AuthorizationRequest, ...]) -> None:
        super().__init__(f"unknown table: {', '.join(sorted(tables))}")
        self.tables = tables
        self.requests = requests


def authorizations_for(
    operation: str, parameters: Mapping[str, Any], scope: ArnScope, schemas: Mapping[str, TableSchema]
) -> tuple[AuthorizationRequest, ...]:
    """Returns the authorization requests of a call. All of them must be allowed.

    Raises UnsupportedRequest if it is not certain which authorization the call needs, or if the call would need none.
    Raises UnknownTable if `schemas` does not have a table that the call names.
    """
    if operation not in _BUILDERS:
        raise UnsupportedRequest(f"unknown operation {operation!r}")
    tables = TableResolver(scope, schemas)
    requests = tuple(_BUILDERS[operation](_check_parameters(operation, parameters), tables))
    if not requests:
        raise UnsupportedRequest(f"{operation} names no table")
    if operation in MERGED_OPERATIONS:
        requests = merge_requests(requests)
    if tables.tables_without_schema:
        raise UnknownTable(frozenset(tables.tables_without_schema), requests)
    return requests


def tables_needed(operation: str, parameters: Mapping[str, Any]) -> frozenset[str]:
    """Returns the names of the tables whose schema `authorizations_for` needs."""
    try:
        authorizations_for(operation, parameters, _PLACEHOLDER_SCOPE, {})
    except UnknownTable as error:
        return frozenset(table_name(name_or_arn) for name_or_arn in error.tables)
    return frozenset()


def _check_parameters(operation: str, parameters: object) -> Parameters:
    call = as_mapping(parameters, operation)
    if operation in operations.PARAMETERS:
        reject_unknown(call, operations.PARAMETERS[operation], operation)
    return call
