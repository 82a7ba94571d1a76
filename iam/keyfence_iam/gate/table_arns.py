"""Table ARNs in calls. Engines accept only names of tables.

Therefore the gate replaces the ARNs in a call by names, and the names in the response by ARNs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from keyfence_iam.authorization import ArnScope
from keyfence_iam.dynamodb.expressions.partiql_parser import parse_statement, replace_table
from keyfence_iam.gate.http.messages import HttpResponse, content_of, with_content

Parameters = Mapping[str, Any]

_STATEMENT_LISTS = {"BatchExecuteStatement": "Statements", "ExecuteTransaction": "TransactStatements"}
_TABLE_MAPS_BY_OPERATION = {
    "BatchGetItem": ("Responses", "UnprocessedKeys"),
    "BatchWriteItem": ("UnprocessedItems", "ItemCollectionMetrics"),
    "TransactWriteItems": ("ItemCollectionMetrics",),
}
"""The members of a response that are maps with tables as their keys, by operation."""


class TableNamedTwice(Exception):
    """A batch names the same table by its name and by its ARN."""


def may_name_arns(body: bytes) -> bool:
    """Whether a request can contain an ARN. It is a fast check: most requests contain neither an ARN nor an escape."""
    return b"arn:" in body or b"\\u" in body


@dataclass(slots=True)
class TableArns:
    """The tables that one call names by an ARN of the account and region of the gate."""

    scope: ArnScope
    arn_by_name: dict[str, str] = field(default_factory=dict)
    _plain_names: set[str] = field(default_factory=set)
    """The tables that the call names by their name."""

    def replace(self, operation: str, parameters: Parameters) -> Parameters:
        """Returns the parameters with names in place of ARNs. ARNs of other accounts and regions are not replaced.

        The parameters must have the form that the operation needs. Raises TableNamedTwice if a batch names a table by
        its name and by its ARN.
        """
        if operation in {"BatchGetItem", "BatchWriteItem"}:
            return {**parameters, "RequestItems": self._batch(parameters["RequestItems"])}
        if operation in {"TransactGetItems", "TransactWriteItems"}:
            return {**parameters, "TransactItems": [self._action(action) for action in parameters["TransactItems"]]}
        if operation in _STATEMENT_LISTS:
            member = _STATEMENT_LISTS[operation]
            return {**parameters, member: [self._statement(statement) for statement in parameters[member]]}
        if operation == "ExecuteStatement":
            return self._statement(parameters)
        return self._table_name(parameters)

    def restore(self, operation: str, response: HttpResponse) -> HttpResponse:
        """Returns the response with ARNs where the caller named a table only by its ARN, as AWS documents it."""
        arns = {name: arn for name, arn in self.arn_by_name.items() if name not in self._plain_names}
        content = content_of(response) if arns else {}
        changed = {
            member: content[member] for member in _TABLE_MAPS_BY_OPERATION.get(operation, ()) if content.get(member)
        }
        changed = {
            member: {arns.get(name, name): value for name, value in values_by_table.items()}
            for member, values_by_table in changed.items()
        }
        match content.get("ConsumedCapacity"):
            case dict(capacity):
                changed["ConsumedCapacity"] = _with_arn(capacity, arns)
            case list(capacities):
                changed["ConsumedCapacity"] = [_with_arn(capacity, arns) for capacity in capacities]
        return with_content(response, {**content, **changed}) if changed else response

    def _name(self, name_or_arn: str) -> str:
        name = self.scope.own_table(name_or_arn)
        if name is None:
            self._plain_names.add(name_or_arn)
            return name_or_arn
        self.arn_by_name[name] = name_or_arn
        return name

    def _table_name(self, parameters: Parameters) -> Parameters:
        table = parameters.get("TableName")
        return {**parameters, "TableName": self._name(table)} if isinstance(table, str) else parameters

    def _batch(self, request_items: Parameters) -> Parameters:
        renamed = {self._name(table): entry for table, entry in request_items.items()}
        if len(renamed) < len(request_items):
            raise TableNamedTwice
        return renamed

    def _action(self, action: Parameters) -> Parameters:
        return {kind: self._table_name(part) for kind, part in action.items()}

    def _statement(self, parameters: Parameters) -> Parameters:
        text = parameters["Statement"]
        table = parse_statement(text).table
        name = self._name(table)
        return parameters if name == table else {**parameters, "Statement": replace_table(text, name)}


def _with_arn(capacity: Parameters, arns: Mapping[str, str]) -> Parameters:
    table = str(capacity.get("TableName"))
    return {**capacity, "TableName": arns[table]} if table in arns else capacity
