"""What PartiQL statements ask for, alone, in batches and in transactions."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from keyfence_iam.evaluator.authorisation import Authorisation, Value
from keyfence_iam.evaluator.requests import members
from keyfence_iam.evaluator.requests.context import attributes_key
from keyfence_iam.evaluator.requests.expressions.node import Literal, Node, Parameter, Path
from keyfence_iam.evaluator.requests.leading_keys import key_text, led_by
from keyfence_iam.evaluator.requests.partiql.partition import only_partition, partitions
from keyfence_iam.evaluator.requests.partiql.statement import Statement, statement
from keyfence_iam.evaluator.requests.refusal import NotUnderstood
from keyfence_iam.evaluator.requests.shape import Holder, as_mapping, attribute_value, listing, only, text
from keyfence_iam.evaluator.requests.table import Table, Tables
from keyfence_iam.evaluator.requests.unconfirmed import enclosed


@dataclass(frozen=True, slots=True)
class Execution:
    """A statement with the values of its parameters."""

    statement: Statement
    parameters: tuple[Mapping[str, Any], ...]

    @classmethod
    def of(cls, call: Holder) -> "Execution":
        given = [] if call.get("Parameters") is None else listing(call, "Parameters")
        found = cls(statement(text(call, "Statement")), tuple(attribute_value(one, "Parameters") for one in given))
        if len(given) != found.statement.parameters:
            raise NotUnderstood("the statement has another number of parameters")
        return found

    def text_of(self, node: Node) -> str:
        """The value of a partition key."""
        if isinstance(node, Parameter):
            return key_text(self.parameters[node.position])
        return key_text({"S": node.text} if isinstance(node, Literal) else {"M": {}})


def execute_statement(call: Holder, tables: Tables) -> Iterator[Authorisation]:
    yield _asked(Execution.of(call), tables, {})


def batch_execute_statement(call: Holder, tables: Tables) -> Iterator[Authorisation]:
    for execution in executions(call, "Statements", members.BATCHED_STATEMENT):
        yield _asked(execution, tables, {})


def execute_transaction(call: Holder, tables: Tables) -> Iterator[Authorisation]:
    for execution in executions(call, "TransactStatements", members.TRANSACTED_STATEMENT):
        yield _asked(execution, tables, enclosed("ExecuteTransaction"))


def executions(call: Holder, name: str, known: frozenset[str]) -> Iterator[Execution]:
    for one in listing(call, name):
        only(as_mapping(one, name), known, name)
        yield Execution.of(one)


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
