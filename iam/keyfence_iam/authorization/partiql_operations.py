"""Authorization requests of PartiQL statements: single, in batches and in transactions."""

from collections.abc import Iterator, Mapping, Sequence

from keyfence_iam.authorization.item_operations import attributes_key
from keyfence_iam.authorization.leading_keys import leading_keys
from keyfence_iam.authorization.named_tables import NamedTable, NamedTables
from keyfence_iam.authorization.undocumented_request_context import enclosing_operation
from keyfence_iam.dynamodb import operations
from keyfence_iam.dynamodb.call_parts import StatementCall, statement_calls
from keyfence_iam.dynamodb.expressions.grammar import Path
from keyfence_iam.dynamodb.expressions.partiql_parser import PartiQLStatement, possible_partitions, single_partition
from keyfence_iam.dynamodb.parameters import Parameters, UnsupportedRequest
from keyfence_iam.evaluator.request import AuthorizationRequest, ContextValue


def execute_statement(call: Parameters, tables: NamedTables) -> Iterator[AuthorizationRequest]:
    yield _authorization(StatementCall.parse(call), tables, {})


def batch_execute_statement(call: Parameters, tables: NamedTables) -> Iterator[AuthorizationRequest]:
    for statement_call in statement_calls(call, "Statements", operations.BATCHED_STATEMENT):
        yield _authorization(statement_call, tables, {})


def execute_transaction(call: Parameters, tables: NamedTables) -> Iterator[AuthorizationRequest]:
    for statement_call in statement_calls(call, "TransactStatements", operations.TRANSACTED_STATEMENT):
        yield _authorization(statement_call, tables, enclosing_operation("ExecuteTransaction"))


def _authorization(
    call: StatementCall, tables: NamedTables, shared: Mapping[str, ContextValue]
) -> AuthorizationRequest:
    statement = call.statement
    table = tables.get(statement.table)
    context = {
        **_leading_keys(call, table),
        **attributes_key(statement.attributes),
        **_returned(statement),
        **shared,
    }
    return AuthorizationRequest(f"dynamodb:PartiQL{statement.verb.title()}", table.resource(statement.index), context)


def _leading_keys(call: StatementCall, table: NamedTable) -> dict[str, ContextValue]:
    if table.schema is None:
        return {}
    keys = table.schema.partition_attributes(call.statement.index)
    if call.statement.verb == "SELECT":
        return _selected_keys(call, keys)
    table.reject_key_update(call.statement.changed)
    return leading_keys([[_written_key(call, keys[0])]])


def _selected_keys(call: StatementCall, keys: Sequence[str]) -> dict[str, ContextValue]:
    """Without equality on the whole partition key a SELECT scans the table, and has no leading keys."""
    found = [values for key in keys if (values := possible_partitions(call.statement.where, key)) is not None]
    if len(found) < len(keys):
        return {"dynamodb:FullTableScan": "true"}
    return {
        **leading_keys([[call.key_string(value) for value in values] for values in found]),
        "dynamodb:FullTableScan": "false",
    }


def _written_key(call: StatementCall, key: str) -> str:
    """Return the one partition key value that a statement writes to."""
    if call.statement.verb == "INSERT":
        value = dict(call.statement.assignments).get(Path(key))
    else:
        value = single_partition(call.statement.where, key)
    if value is None:
        raise UnsupportedRequest(f"the statement must compare {key} once, by equality")
    return call.key_string(value)


def _returned(statement: PartiQLStatement) -> dict[str, ContextValue]:
    if statement.verb == "SELECT":
        everything = "ALL_ATTRIBUTES" if statement.index is None else "ALL_PROJECTED_ATTRIBUTES"
        return {"dynamodb:Select": everything if statement.selects_all else "SPECIFIC_ATTRIBUTES"}
    return {} if statement.verb == "INSERT" else {"dynamodb:ReturnValues": statement.returning}
