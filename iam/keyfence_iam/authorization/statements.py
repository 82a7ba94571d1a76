"""What PartiQL statements ask for, alone, in batches and in transactions."""

from collections.abc import Iterator, Mapping, Sequence

from keyfence_iam.authorization.arns import Table, Tables
from keyfence_iam.authorization.assumptions import enclosed
from keyfence_iam.authorization.items import attributes_key
from keyfence_iam.authorization.leading_keys import led_by
from keyfence_iam.dynamodb import operations
from keyfence_iam.dynamodb.calls import Execution, executions
from keyfence_iam.dynamodb.expressions.grammar import Path
from keyfence_iam.dynamodb.expressions.partiql import Statement, only_partition, partitions
from keyfence_iam.dynamodb.parameters import (
    Holder,
    NotUnderstood,
)
from keyfence_iam.evaluator.request import Authorisation, Value


def execute_statement(call: Holder, tables: Tables) -> Iterator[Authorisation]:
    yield _asked(Execution.of(call), tables, {})


def batch_execute_statement(call: Holder, tables: Tables) -> Iterator[Authorisation]:
    for execution in executions(call, "Statements", operations.BATCHED_STATEMENT):
        yield _asked(execution, tables, {})


def execute_transaction(call: Holder, tables: Tables) -> Iterator[Authorisation]:
    for execution in executions(call, "TransactStatements", operations.TRANSACTED_STATEMENT):
        yield _asked(execution, tables, enclosed("ExecuteTransaction"))


def _asked(execution: Execution, tables: Tables, shared: Mapping[str, Value]) -> Authorisation:
    asked = execution.statement
    table = tables.named(asked.table)
    context = {**_led_by(execution, table), **attributes_key(asked.names), **_answered(asked), **shared}
    return Authorisation(f"dynamodb:PartiQL{asked.verb.title()}", table.resource(asked.index), context)


def _led_by(execution: Execution, table: Table) -> dict[str, Value]:
    if table.keys is None:
        return {}
    keys = table.keys.partition_of(execution.statement.index)
    if execution.statement.verb == "SELECT":
        return _selected(execution, keys)
    table.keep(execution.statement.changed)
    return led_by([[_written(execution, keys[0])]])


def _selected(execution: Execution, keys: Sequence[str]) -> dict[str, Value]:
    """Without equality on the whole partition key every item is looked at, and nothing leads them."""
    found = [values for key in keys if (values := partitions(execution.statement.where, key)) is not None]
    if len(found) < len(keys):
        return {"dynamodb:FullTableScan": "true"}
    return {
        **led_by([[execution.text_of(value) for value in values] for values in found]),
        "dynamodb:FullTableScan": "false",
    }


def _written(execution: Execution, key: str) -> str:
    """The one partition in which a statement writes."""
    if execution.statement.verb == "INSERT":
        value = dict(execution.statement.assigned).get(Path(key))
    else:
        value = only_partition(execution.statement.where, key)
    if value is None:
        raise NotUnderstood(f"{key} is not given once and by equality")
    return execution.text_of(value)


def _answered(asked: Statement) -> dict[str, Value]:
    if asked.verb == "SELECT":
        whole = "ALL_ATTRIBUTES" if asked.index is None else "ALL_PROJECTED_ATTRIBUTES"
        return {"dynamodb:Select": whole if asked.everything else "SPECIFIC_ATTRIBUTES"}
    return {} if asked.verb == "INSERT" else {"dynamodb:ReturnValues": asked.returning}
