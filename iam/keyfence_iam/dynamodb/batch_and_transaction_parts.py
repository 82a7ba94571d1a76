"""The parts of a call: reads and writes of batches and transactions, and PartiQL statements.

Every function checks the parameters that it reads. It raises UnsupportedRequest if they do not have DynamoDB's form.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from keyfence_iam.dynamodb import operations
from keyfence_iam.dynamodb.expressions.grammar import LiteralValue, Node, Parameter
from keyfence_iam.dynamodb.expressions.partiql_parser import PartiQLStatement, parse_statement
from keyfence_iam.dynamodb.item_size import Item
from keyfence_iam.dynamodb.operations import WriteKind
from keyfence_iam.dynamodb.request_parameters import (
    Parameters,
    UnsupportedRequest,
    array,
    as_mapping,
    attribute_value,
    attributes,
    key_string,
    mapping,
    reject_unknown,
    string,
)


@dataclass(frozen=True, slots=True)
class StatementCall:
    """A PartiQL statement with the values of its parameters."""

    statement: PartiQLStatement
    parameters: tuple[Mapping[str, Any], ...]

    @classmethod
    def parse(cls, call: Parameters) -> "StatementCall":
        """Parses `Statement` and `Parameters` of a call, or of one element of a batch or transaction."""
        values = [] if call.get("Parameters") is None else array(call, "Parameters")
        statement = parse_statement(string(call, "Statement"))
        if len(values) != statement.parameter_count:
            raise UnsupportedRequest(
                f"the statement has {statement.parameter_count} parameters, but the call has {len(values)} values"
            )
        return cls(statement, tuple(attribute_value(value, "Parameters") for value in values))

    def key_string(self, node: Node) -> str:
        """Returns the value of a partition key, which is a parameter or a literal.

        Raises UnsupportedRequest unless the value is a string that is not empty.
        """
        if isinstance(node, Parameter):
            return key_string(self.parameters[node.position])
        return key_string({"S": node.text} if isinstance(node, LiteralValue) else {"M": {}})


def statement_calls(call: Parameters, name: str, known_members: frozenset[str]) -> Iterator[StatementCall]:
    """Yields the statements in the list parameter `name` of a batch or transaction."""
    for element in array(call, name):
        reject_unknown(as_mapping(element, name), known_members, name)
        yield StatementCall.parse(element)


def batch_reads(call: Parameters) -> Iterator[tuple[str, Parameters, list[Item]]]:
    """Yields, for each table of a BatchGetItem, its name or ARN, its KeysAndAttributes, and the keys in them."""
    requests = mapping(call, "RequestItems")
    for table in requests:
        entry = mapping(requests, table)
        reject_unknown(entry, operations.KEYS_AND_ATTRIBUTES_MEMBERS, "RequestItems")
        yield table, entry, [attributes({"Keys": key}, "Keys") for key in array(entry, "Keys")]


def batch_writes(call: Parameters) -> Iterator[tuple[str, list[tuple[WriteKind, Item]]]]:
    """Yields, for each table of a BatchWriteItem, its name or ARN, and the items to put and the keys to delete."""
    requests = mapping(call, "RequestItems")
    for table in requests:
        yield table, [_batch_write(request) for request in array(requests, table)]


def transaction_reads(call: Parameters) -> Iterator[Parameters]:
    """Yields each Get of a TransactGetItems."""
    for element in array(call, "TransactItems"):
        read = as_mapping(element, "TransactItems")
        if set(read) != {"Get"}:
            raise UnsupportedRequest("an element of TransactItems must be a Get")
        reject_unknown(mapping(read, "Get"), operations.GET_MEMBERS, "Get")
        yield read["Get"]


def transaction_writes(call: Parameters) -> Iterator[tuple[WriteKind, Parameters]]:
    """Yields the kind and the parameters of each write in a TransactWriteItems."""
    for element in array(call, "TransactItems"):
        write = as_mapping(element, "TransactItems")
        kind = next((kind for kind in operations.TRANSACTION_WRITE_MEMBERS if kind in write), None)
        if kind is None or len(write) != 1:
            raise UnsupportedRequest("an element of TransactItems must be one Put, Update, Delete or ConditionCheck")
        reject_unknown(mapping(write, kind), operations.TRANSACTION_WRITE_MEMBERS[kind], kind)
        yield kind, write[kind]


def _batch_write(request: object) -> tuple[WriteKind, Item]:
    """Returns the kind of one write request, and the item to put or the key to delete."""
    match as_mapping(request, "a write request"):
        case {"PutRequest": put, **rest} if not rest:
            reject_unknown(as_mapping(put, "PutRequest"), operations.PUT_REQUEST_MEMBERS, "PutRequest")
            return "Put", attributes(put, "Item")
        case {"DeleteRequest": delete, **rest} if not rest:
            reject_unknown(as_mapping(delete, "DeleteRequest"), operations.DELETE_REQUEST_MEMBERS, "DeleteRequest")
            return "Delete", attributes(delete, "Key")
    raise UnsupportedRequest("a write request must be one PutRequest or DeleteRequest")
