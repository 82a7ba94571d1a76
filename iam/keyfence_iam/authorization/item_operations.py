"""Authorization requests of operations on items: single, batches, transactions, Query and Scan."""

from collections.abc import Iterable, Iterator

from keyfence_iam.authorization.leading_keys import query_partition
from keyfence_iam.authorization.named_tables import NamedTables, index_arn
from keyfence_iam.authorization.undocumented_request_context import (
    consumed_capacity,
    enclosing_operation,
    transaction_return_values,
)
from keyfence_iam.dynamodb.attributes import changed_attributes, has_projection, mentioned_attributes
from keyfence_iam.dynamodb.call_parts import batch_reads, batch_writes, transaction_reads, transaction_writes
from keyfence_iam.dynamodb.parameters import Parameters, attributes, choice, optional_string, string
from keyfence_iam.evaluator.request import AuthorizationRequest, ContextValue

_SELECT = frozenset({"ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES", "SPECIFIC_ATTRIBUTES", "COUNT"})
_RETURN_VALUES = frozenset({"NONE", "ALL_OLD", "UPDATED_OLD", "ALL_NEW", "UPDATED_NEW"})
_TRANSACTION_ACTIONS = {
    "Put": "dynamodb:PutItem",
    "Update": "dynamodb:UpdateItem",
    "Delete": "dynamodb:DeleteItem",
    "ConditionCheck": "dynamodb:ConditionCheckItem",
}


def get_item(call: Parameters, tables: NamedTables) -> Iterator[AuthorizationRequest]:
    table = tables.get(string(call, "TableName"))
    context = {
        **table.leading_keys([attributes(call, "Key")]),
        **_mentioned(call),
        **_select(call),
        **consumed_capacity(call),
    }
    yield AuthorizationRequest("dynamodb:GetItem", table.arn, context)


def batch_get_item(call: Parameters, tables: NamedTables) -> Iterator[AuthorizationRequest]:
    for name, entry, keys in batch_reads(call):
        table = tables.get(name)
        context = {
            **table.leading_keys(keys),
            **attributes_key([*_names(keys), *mentioned_attributes(entry)]),
            **_select(entry),
            **consumed_capacity(call),
        }
        yield AuthorizationRequest("dynamodb:BatchGetItem", table.arn, context)


def query(call: Parameters, tables: NamedTables) -> Iterator[AuthorizationRequest]:
    """A Query of an index needs permission for the index only, with the index's partition key."""
    table, index = tables.get(string(call, "TableName")), optional_string(call, "IndexName")
    context = {
        **_mentioned(call),
        **(query_partition(call, table.schema.partition_attributes(index)) if table.schema else {}),
        **_select(call, index),
        **consumed_capacity(call),
    }
    yield AuthorizationRequest("dynamodb:Query", table.resource(index), context)


def scan(call: Parameters, tables: NamedTables) -> Iterator[AuthorizationRequest]:
    """A Scan has no leading keys, since it returns items of every partition."""
    arn, index = tables.resource(string(call, "TableName")), optional_string(call, "IndexName")
    context = {**_mentioned(call), **_select(call, index), **consumed_capacity(call)}
    yield AuthorizationRequest("dynamodb:Scan", arn if index is None else index_arn(arn, index), context)


def put_item(call: Parameters, tables: NamedTables) -> Iterator[AuthorizationRequest]:
    yield _write("PutItem", call, "Item", tables)


def update_item(call: Parameters, tables: NamedTables) -> Iterator[AuthorizationRequest]:
    tables.get(string(call, "TableName")).reject_key_update(changed_attributes(call))
    yield _write("UpdateItem", call, "Key", tables)


def delete_item(call: Parameters, tables: NamedTables) -> Iterator[AuthorizationRequest]:
    yield _write("DeleteItem", call, "Key", tables)


def batch_write_item(call: Parameters, tables: NamedTables) -> Iterator[AuthorizationRequest]:
    """BatchWriteItem is an action of its own, for puts and deletes alike."""
    for name, writes in batch_writes(call):
        table, items = tables.get(name), [item for _, item in writes]
        context = {**table.leading_keys(items), **attributes_key(_names(items)), **consumed_capacity(call)}
        yield AuthorizationRequest("dynamodb:BatchWriteItem", table.arn, context)


def transact_get_items(call: Parameters, tables: NamedTables) -> Iterator[AuthorizationRequest]:
    shared = {**consumed_capacity(call), **enclosing_operation("TransactGetItems")}
    for get in transaction_reads(call):
        table = tables.get(string(get, "TableName"))
        context = {**table.leading_keys([attributes(get, "Key")]), **_mentioned(get), **_select(get), **shared}
        yield AuthorizationRequest("dynamodb:GetItem", table.arn, context)


def transact_write_items(call: Parameters, tables: NamedTables) -> Iterator[AuthorizationRequest]:
    shared = {**consumed_capacity(call), **enclosing_operation("TransactWriteItems")}
    for kind, write in transaction_writes(call):
        table = tables.get(string(write, "TableName"))
        table.reject_key_update(changed_attributes(write))
        key = attributes(write, "Item" if kind == "Put" else "Key")
        context = {**table.leading_keys([key]), **_mentioned(write), **transaction_return_values(write), **shared}
        yield AuthorizationRequest(_TRANSACTION_ACTIONS[kind], table.arn, context)


def attributes_key(names: Iterable[str]) -> dict[str, ContextValue]:
    """Return the condition key `dynamodb:Attributes` with each name once. It is absent if there are no names."""
    unique = tuple(dict.fromkeys(names))
    return {"dynamodb:Attributes": unique} if unique else {}


def _write(action: str, call: Parameters, item: str, tables: NamedTables) -> AuthorizationRequest:
    table = tables.get(string(call, "TableName"))
    context = {
        **table.leading_keys([attributes(call, item)]),
        **_mentioned(call),
        "dynamodb:ReturnValues": choice(call, "ReturnValues", _RETURN_VALUES, "NONE"),
        **consumed_capacity(call),
    }
    return AuthorizationRequest(f"dynamodb:{action}", table.arn, context)


def _mentioned(call: Parameters) -> dict[str, ContextValue]:
    return attributes_key(mentioned_attributes(call))


def _select(call: Parameters, index: str | None = None) -> dict[str, ContextValue]:
    everything = "ALL_ATTRIBUTES" if index is None else "ALL_PROJECTED_ATTRIBUTES"
    default = "SPECIFIC_ATTRIBUTES" if has_projection(call) else everything
    return {"dynamodb:Select": choice(call, "Select", _SELECT, default)}


def _names(items: Iterable[Iterable[str]]) -> list[str]:
    return [name for item in items for name in item]
