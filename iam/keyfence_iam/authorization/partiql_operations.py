"""Authorization requests of PartiQL statements, with their leading keys: single, in batches and in transactions."""

from collections.abc import Iterator, Mapping, Sequence

from keyfence_iam.authorization.batch_and_transaction_operations import FULL_TABLE_SCAN
from keyfence_iam.authorization.item_operations import attributes_key
from keyfence_iam.authorization.leading_keys import leading_keys
from keyfence_iam.authorization.named_tables import TableResolver, TableWithSchema, resource_arn
from keyfence_iam.authorization.request_condition_keys import enclosing_operation_key
from keyfence_iam.dynamodb import operations
from keyfence_iam.dynamodb.batch_and_transaction_parts import StatementCall, statement_calls
from keyfence_iam.dynamodb.expressions.grammar import Node, Path
from keyfence_iam.dynamodb.expressions.partiql_parser import PartiQLStatement, possible_values, required_value
from keyfence_iam.dynamodb.request_parameters import Parameters, UnsupportedRequest
from keyfence_iam.evaluator.request import AuthorizationRequest, ContextValue


def execute_statement(call: Parameters, tables: TableResolver) -> Iterator[AuthorizationRequest]:
    yield _authorization(StatementCall.parse(call), tables, {})


def batch_execute_statement(call: Parameters, tables: TableResolver) -> Iterator[AuthorizationRequest]:
    for statement_call in statement_calls(call, "Statements", operations.BATCHED_STATEMENT_MEMBERS):
        yield _authorization(statement_call, tables, {})


def execute_transaction(call: Parameters, tables: TableResolver) -> Iterator[AuthorizationRequest]:
    for statement_call in statement_calls(call, "TransactStatements", operations.TRANSACTED_STATEMENT_MEMBERS):
        yield _authorization(statement_call, tables, enclosing_operation_key("ExecuteTransaction"))


def _authorization(
    call: StatementCall, tables: TableResolver, shared_context: Mapping[str, ContextValue]
) -> AuthorizationRequest:
    statement = call.statement
    table = tables.get(statement.table)
    context = {
        **_leading_keys(call, table),
        **attributes_key(statement.attributes),
        **_returned_data_key(statement),
        **shared_context,
    }
    action = f"dynamodb:PartiQL{statement.verb.title()}"
    return AuthorizationRequest(action, resource_arn(table.arn, statement.index), context)


def _leading_keys(call: StatementCall, table: TableWithSchema) -> dict[str, ContextValue]:
    if table.schema is None:
        return {}
    partition_key = table.schema.partition_attributes(call.statement.index)
    if call.statement.verb == "SELECT":
        return _selected_keys(call, partition_key)
    table.reject_key_update(call.statement.changed_attributes)
    return leading_keys([[_written_key(call, partition_key[0])]])


def _selected_keys(call: StatementCall, partition_key: Sequence[str]) -> dict[str, ContextValue]:
    """Returns the condition keys of a SELECT.

    If the WHERE clause does not limit every attribute of the partition key to certain values, the SELECT scans the
    table, and has no leading keys.
    """
    nodes_by_attribute: list[tuple[Node, ...]] = []
    for attribute in partition_key:
        nodes = possible_values(call.statement.where, attribute)
        if nodes is None:
            return {FULL_TABLE_SCAN: "true"}
        nodes_by_attribute.append(nodes)
    values_by_attribute = [[call.key_string(node) for node in nodes] for nodes in nodes_by_attribute]
    return {**leading_keys(values_by_attribute), FULL_TABLE_SCAN: "false"}


def _written_key(call: StatementCall, partition_key: str) -> str:
    """Returns the partition key value that an INSERT, UPDATE or DELETE writes to.

    Raises UnsupportedRequest if the statement does not name exactly one such value.
    """
    if call.statement.verb == "INSERT":
        value = dict(call.statement.assignments).get(Path(partition_key))
    else:
        value = required_value(call.statement.where, partition_key)
    if value is None:
        raise UnsupportedRequest(f"the statement must name exactly one value of {partition_key}")
    return call.key_string(value)


def _returned_data_key(statement: PartiQLStatement) -> dict[str, ContextValue]:
    """Returns the condition key that says which data the response has. An INSERT returns no data."""
    if statement.verb == "SELECT":
        whole_items = "ALL_ATTRIBUTES" if statement.index is None else "ALL_PROJECTED_ATTRIBUTES"
        return {"dynamodb:Select": whole_items if statement.selects_all else "SPECIFIC_ATTRIBUTES"}
    return {} if statement.verb == "INSERT" else {"dynamodb:ReturnValues": statement.return_values}
