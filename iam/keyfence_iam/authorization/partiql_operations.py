"""What PartiQL statements ask for, alone, in batches and in transactions."""

from collections.abc import Iterator, Mapping, Sequence

from keyfence_iam.authorization.arns import NamedTable, NamedTables
from keyfence_iam.authorization.item_operations import attributes_key
from keyfence_iam.authorization.leading_keys import leading_keys
from keyfence_iam.authorization.undocumented_behavior import enclosing_operation
from keyfence_iam.dynamodb import operations
from keyfence_iam.dynamodb.calls import StatementCall, statement_calls
from keyfence_iam.dynamodb.expressions.grammar import Path
from keyfence_iam.dynamodb.expressions.partiql import PartiQLStatement, possible_partitions, single_partition
from keyfence_iam.dynamodb.parameters import Parameters, UnsupportedRequest
from keyfence_iam.evaluator.request import AuthorizationRequest, ContextValue


def execute_statement(call: Parameters, tables: NamedTables) -> Iterator[AuthorizationRequest]:
    yield _asked(StatementCall.parse(call), tables, {})


def batch_execute_statement(call: Parameters, tables: NamedTables) -> Iterator[AuthorizationRequest]:
    for execution in statement_calls(call, "Statements", operations.BATCHED_STATEMENT):
        yield _asked(execution, tables, {})


def execute_transaction(call: Parameters, tables: NamedTables) -> Iterator[AuthorizationRequest]:
    for execution in statement_calls(call, "TransactStatements", operations.TRANSACTED_STATEMENT):
        yield _asked(execution, tables, enclosing_operation("ExecuteTransaction"))


def _asked(execution: StatementCall, tables: NamedTables, shared: Mapping[str, ContextValue]) -> AuthorizationRequest:
    asked = execution.statement
    table = tables.get(asked.table)
    context = {**_led_by(execution, table), **attributes_key(asked.attributes), **_answered(asked), **shared}
    return AuthorizationRequest(f"dynamodb:PartiQL{asked.verb.title()}", table.resource(asked.index), context)


def _led_by(execution: StatementCall, table: NamedTable) -> dict[str, ContextValue]:
    if table.schema is None:
        return {}
    keys = table.schema.partition_attributes(execution.statement.index)
    if execution.statement.verb == "SELECT":
        return _selected(execution, keys)
    table.reject_key_update(execution.statement.changed)
    return leading_keys([[_written(execution, keys[0])]])


def _selected(execution: StatementCall, keys: Sequence[str]) -> dict[str, ContextValue]:
    """Without equality on the whole partition key every item is looked at, and nothing leads them."""
    found = [values for key in keys if (values := possible_partitions(execution.statement.where, key)) is not None]
    if len(found) < len(keys):
        return {"dynamodb:FullTableScan": "true"}
    return {
        **leading_keys([[execution.key_string(value) for value in values] for values in found]),
        "dynamodb:FullTableScan": "false",
    }


def _written(execution: StatementCall, key: str) -> str:
    """The one partition in which a statement writes."""
    if execution.statement.verb == "INSERT":
        value = dict(execution.statement.assignments).get(Path(key))
    else:
        value = single_partition(execution.statement.where, key)
    if value is None:
        raise UnsupportedRequest(f"{key} is not given once and by equality")
    return execution.key_string(value)


def _answered(asked: PartiQLStatement) -> dict[str, ContextValue]:
    if asked.verb == "SELECT":
        whole = "ALL_ATTRIBUTES" if asked.index is None else "ALL_PROJECTED_ATTRIBUTES"
        return {"dynamodb:Select": whole if asked.selects_all else "SPECIFIC_ATTRIBUTES"}
    return {} if asked.verb == "INSERT" else {"dynamodb:ReturnValues": asked.returning}
