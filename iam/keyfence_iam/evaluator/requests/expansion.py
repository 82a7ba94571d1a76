"""A call to DynamoDB as the questions that it puts to IAM."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from keyfence_iam.evaluator.authorisation import Authorisation
from keyfence_iam.evaluator.requests import control, members, reads, statements, streams, transactions, writes
from keyfence_iam.evaluator.requests.place import Place
from keyfence_iam.evaluator.requests.refusal import NotUnderstood, UnknownTable
from keyfence_iam.evaluator.requests.shape import Holder, as_mapping, only
from keyfence_iam.evaluator.requests.table import Tables
from keyfence_iam.evaluator.requests.table_keys import TableKeys
from keyfence_iam.evaluator.requests.union import union

Expander = Callable[[Holder, Tables], Iterator[Authorisation]]

_OPERATIONS: Mapping[str, Expander] = {
    "GetItem": reads.get_item,
    "BatchGetItem": reads.batch_get_item,
    "Query": reads.query,
    "Scan": reads.scan,
    "PutItem": writes.put_item,
    "UpdateItem": writes.update_item,
    "DeleteItem": writes.delete_item,
    "BatchWriteItem": writes.batch_write_item,
    "TransactGetItems": transactions.transact_get_items,
    "TransactWriteItems": transactions.transact_write_items,
    "ExecuteStatement": statements.execute_statement,
    "BatchExecuteStatement": statements.batch_execute_statement,
    "ExecuteTransaction": statements.execute_transaction,
    "ListStreams": streams.list_streams,
    "DescribeStream": streams.describe_stream,
    "GetShardIterator": streams.get_shard_iterator,
    "GetRecords": streams.get_records,
    **control.OPERATIONS,
}
_TOGETHER = frozenset({"BatchGetItem", "BatchWriteItem", "BatchExecuteStatement", "ExecuteTransaction"})
_NOWHERE = Place(account="0" * 12, region="nowhere")

UNDERSTOOD = frozenset(_OPERATIONS)


def expand(
    operation: str, parameters: Mapping[str, Any], place: Place, keys: Mapping[str, TableKeys]
) -> tuple[Authorisation, ...]:
    """All of them have to be allowed. A call that would ask for nothing is not understood."""
    if operation not in _OPERATIONS:
        raise NotUnderstood(f"unknown operation {operation!r}")
    tables = Tables(place, keys)
    asked = tuple(_OPERATIONS[operation](_known(operation, parameters), tables))
    if not asked:
        raise NotUnderstood(f"{operation} names nothing")
    together = union(asked) if operation in _TOGETHER else asked
    if tables.unknown:
        raise UnknownTable(frozenset(tables.unknown), together)
    return together


def tables_named(operation: str, parameters: Mapping[str, Any]) -> frozenset[str]:
    """The names of the tables whose keys have to be known before the call can be expanded."""
    try:
        expand(operation, parameters, _NOWHERE, {})
    except UnknownTable as unknown:
        return frozenset(name.rpartition("/")[2] for name in unknown.tables)
    return frozenset()


def _known(operation: str, parameters: object) -> Holder:
    call = as_mapping(parameters, operation)
    if operation in members.OPERATIONS:
        only(call, members.OPERATIONS[operation], operation)
    return call
