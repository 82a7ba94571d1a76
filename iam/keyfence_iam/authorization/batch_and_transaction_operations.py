"""Authorization requests of batches and transactions. Requests with the same action and resource can be merged."""

from collections.abc import Iterable, Iterator

from keyfence_iam.authorization.item_operations import attributes_key, mentioned_attributes_key, select_key
from keyfence_iam.authorization.named_tables import TableResolver
from keyfence_iam.authorization.request_condition_keys import (
    DISCLOSURE_ORDER,
    enclosing_operation_key,
    return_consumed_capacity_key,
    transaction_return_values_key,
)
from keyfence_iam.dynamodb.attributes import changed_attributes, mentioned_attributes
from keyfence_iam.dynamodb.batch_and_transaction_parts import (
    batch_reads,
    batch_writes,
    transaction_reads,
    transaction_writes,
)
from keyfence_iam.dynamodb.request_parameters import Parameters, attributes, string
from keyfence_iam.evaluator.request import AuthorizationRequest, ContextValue

FULL_TABLE_SCAN = "dynamodb:FullTableScan"
MERGED_OPERATIONS = frozenset({"BatchGetItem", "BatchWriteItem", "BatchExecuteStatement", "ExecuteTransaction"})
"""Operations that need one authorization for each action and resource, with the leading keys of all their parts."""

_TRANSACTION_ACTIONS = {
    "Put": "dynamodb:PutItem",
    "Update": "dynamodb:UpdateItem",
    "Delete": "dynamodb:DeleteItem",
    "ConditionCheck": "dynamodb:ConditionCheckItem",
}


def batch_get_item(call: Parameters, tables: TableResolver) -> Iterator[AuthorizationRequest]:
    for name, entry, keys in batch_reads(call):
        table = tables.get(name)
        context = {
            **table.leading_keys(keys),
            **attributes_key([*_attribute_names(keys), *mentioned_attributes(entry)]),
            **select_key(entry),
            **return_consumed_capacity_key(call),
        }
        yield AuthorizationRequest("dynamodb:BatchGetItem", table.arn, context)


def batch_write_item(call: Parameters, tables: TableResolver) -> Iterator[AuthorizationRequest]:
    """Yields requests for the action BatchWriteItem, which covers puts and deletes."""
    for name, writes in batch_writes(call):
        table, items = tables.get(name), [item for _, item in writes]
        context = {
            **table.leading_keys(items),
            **attributes_key(_attribute_names(items)),
            **return_consumed_capacity_key(call),
        }
        yield AuthorizationRequest("dynamodb:BatchWriteItem", table.arn, context)


def transact_get_items(call: Parameters, tables: TableResolver) -> Iterator[AuthorizationRequest]:
    shared_context = {**return_consumed_capacity_key(call), **enclosing_operation_key("TransactGetItems")}
    for get in transaction_reads(call):
        table = tables.get(string(get, "TableName"))
        context = {
            **table.leading_keys([attributes(get, "Key")]),
            **mentioned_attributes_key(get),
            **select_key(get),
            **shared_context,
        }
        yield AuthorizationRequest("dynamodb:GetItem", table.arn, context)


def transact_write_items(call: Parameters, tables: TableResolver) -> Iterator[AuthorizationRequest]:
    shared_context = {**return_consumed_capacity_key(call), **enclosing_operation_key("TransactWriteItems")}
    for kind, write in transaction_writes(call):
        table = tables.get(string(write, "TableName"))
        table.reject_key_update(changed_attributes(write))
        item_or_key = attributes(write, "Item" if kind == "Put" else "Key")
        context = {
            **table.leading_keys([item_or_key]),
            **mentioned_attributes_key(write),
            **transaction_return_values_key(write),
            **shared_context,
        }
        yield AuthorizationRequest(_TRANSACTION_ACTIONS[kind], table.arn, context)


def merge_requests(requests: Iterable[AuthorizationRequest]) -> tuple[AuthorizationRequest, ...]:
    """Merges requests with the same action and resource. The merged request has the leading keys of all of them.

    The request of a full table scan is not merged with the others. With their leading keys, it would look like a
    request for these keys only.
    """
    merged: dict[tuple[str, str, ContextValue | None], AuthorizationRequest] = {}
    for request in requests:
        group = (request.action, request.resource, request.context.get(FULL_TABLE_SCAN))
        merged[group] = _merge(merged[group], request) if group in merged else request
    return tuple(merged.values())


def _merge(first: AuthorizationRequest, second: AuthorizationRequest) -> AuthorizationRequest:
    context = dict(first.context)
    for key, value in second.context.items():
        context[key] = _merge_values(key, context.get(key, value), value)
    return AuthorizationRequest(first.action, first.resource, context)


def _merge_values(key: str, first: ContextValue, second: ContextValue) -> ContextValue:
    """Returns all values of a multivalued key. Of two single values, returns the one that discloses more, or the first
    one if DISCLOSURE_ORDER does not have the key."""
    if isinstance(first, tuple) and isinstance(second, tuple):
        return tuple(dict.fromkeys((*first, *second)))
    order = DISCLOSURE_ORDER.get(key)
    return first if order is None else max(first, second, key=lambda value: order[str(value)])


def _attribute_names(items: Iterable[Iterable[str]]) -> list[str]:
    return [name for item in items for name in item]
