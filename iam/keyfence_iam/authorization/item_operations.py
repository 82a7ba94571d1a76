"""Item calls, batches, transactions."""

from collections.abc import Iterator, Mapping
from typing import Any

from keyfence_iam.authorization.arns import NamedTables, index_arn
from keyfence_iam.authorization.leading_keys import query_partition
from keyfence_iam.authorization.undocumented_behavior import (
    consumed_capacity,
    enclosing_operation,
    transaction_return_values,
)
from keyfence_iam.dynamodb import operations
from keyfence_iam.dynamodb.attributes import changed_attributes, has_projection, mentioned_attributes
from keyfence_iam.dynamodb.calls import batch_writes, transaction_writes
from keyfence_iam.dynamodb.parameters import (
    Parameters,
    UnsupportedRequest,
    array,
    as_mapping,
    attributes,
    choice,
    mapping,
    optional_string,
    reject_unknown,
    string,
)
from keyfence_iam.evaluator.request import AuthorizationRequest, ContextValue

SELECT = frozenset({"ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES", "SPECIFIC_ATTRIBUTES", "COUNT"})
RETURN_VALUES = frozenset({"NONE", "ALL_OLD", "UPDATED_OLD", "ALL_NEW", "UPDATED_NEW"})


def attributes_key(names: tuple[str, ...]) -> dict[str, ContextValue]:
    """Absent, not empty, where no attribute is mentioned."""
    return {"dynamodb:Attributes": names} if names else {}


def attributes_of(call: Parameters) -> dict[str, ContextValue]:
    return attributes_key(mentioned_attributes(call))


def select_of(call: Parameters, index: str | None = None) -> dict[str, ContextValue]:
    whole = "ALL_ATTRIBUTES" if index is None else "ALL_PROJECTED_ATTRIBUTES"
    default = "SPECIFIC_ATTRIBUTES" if has_projection(call) else whole
    return {"dynamodb:Select": choice(call, "Select", SELECT, default)}


def returned_of(call: Parameters) -> dict[str, ContextValue]:
    return {"dynamodb:ReturnValues": choice(call, "ReturnValues", RETURN_VALUES, "NONE")}


def get_item(call: Parameters, tables: NamedTables) -> Iterator[AuthorizationRequest]:
    table = tables.get(string(call, "TableName"))
    context = {
        **table.leading_keys([attributes(call, "Key")]),
        **attributes_of(call),
        **select_of(call),
        **consumed_capacity(call),
    }
    yield AuthorizationRequest("dynamodb:GetItem", table.arn, context)


def batch_get_item(call: Parameters, tables: NamedTables) -> Iterator[AuthorizationRequest]:
    for named in mapping(call, "RequestItems"):
        entry = mapping(mapping(call, "RequestItems"), named)
        reject_unknown(entry, operations.KEYS_AND_ATTRIBUTES, "RequestItems")
        table, keys = tables.get(named), _keys(entry)
        context = {
            **table.leading_keys(keys),
            **attributes_key(_together([*keys, dict.fromkeys(mentioned_attributes(entry))])),
            **select_of(entry),
            **consumed_capacity(call),
        }
        yield AuthorizationRequest("dynamodb:BatchGetItem", table.arn, context)


def query(call: Parameters, tables: NamedTables) -> Iterator[AuthorizationRequest]:
    """On an index it is the index alone that is asked for, and the index's own partition key."""
    table, index = tables.get(string(call, "TableName")), optional_string(call, "IndexName")
    context = {
        **attributes_of(call),
        **(query_partition(call, table.schema.partition_attributes(index)) if table.schema else {}),
        **select_of(call, index),
        **consumed_capacity(call),
    }
    yield AuthorizationRequest("dynamodb:Query", table.resource(index), context)


def scan(call: Parameters, tables: NamedTables) -> Iterator[AuthorizationRequest]:
    """Without leading keys: it returns items whatever leads them."""
    arn, index = tables.resource(string(call, "TableName")), optional_string(call, "IndexName")
    context = {**attributes_of(call), **select_of(call, index), **consumed_capacity(call)}
    yield AuthorizationRequest("dynamodb:Scan", arn if index is None else index_arn(arn, index), context)


def _keys(entry: Parameters) -> list[Mapping[str, Any]]:
    return [attributes({"Keys": key}, "Keys") for key in array(entry, "Keys")]


def _together(items: list[Mapping[str, Any]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for item in items for name in item))


def put_item(call: Parameters, tables: NamedTables) -> Iterator[AuthorizationRequest]:
    yield _write("PutItem", call, "Item", tables)


def update_item(call: Parameters, tables: NamedTables) -> Iterator[AuthorizationRequest]:
    tables.get(string(call, "TableName")).reject_key_update(changed_attributes(call))
    yield _write("UpdateItem", call, "Key", tables)


def delete_item(call: Parameters, tables: NamedTables) -> Iterator[AuthorizationRequest]:
    yield _write("DeleteItem", call, "Key", tables)


def batch_write_item(call: Parameters, tables: NamedTables) -> Iterator[AuthorizationRequest]:
    """One action of its own, whether items are put or deleted."""
    requests = mapping(call, "RequestItems")
    for named in requests:
        table, items = tables.get(named), [item for _, item in batch_writes(array(requests, named))]
        names = tuple(dict.fromkeys(name for item in items for name in item))
        context = {**table.leading_keys(items), **attributes_key(names), **consumed_capacity(call)}
        yield AuthorizationRequest("dynamodb:BatchWriteItem", table.arn, context)


def _write(action: str, call: Parameters, item: str, tables: NamedTables) -> AuthorizationRequest:
    table = tables.get(string(call, "TableName"))
    context = {
        **table.leading_keys([attributes(call, item)]),
        **attributes_of(call),
        **returned_of(call),
        **consumed_capacity(call),
    }
    return AuthorizationRequest(f"dynamodb:{action}", table.arn, context)


_ACTIONS = {
    "Put": "dynamodb:PutItem",
    "Update": "dynamodb:UpdateItem",
    "Delete": "dynamodb:DeleteItem",
    "ConditionCheck": "dynamodb:ConditionCheckItem",
}


def transact_get_items(call: Parameters, tables: NamedTables) -> Iterator[AuthorizationRequest]:
    shared = {**consumed_capacity(call), **enclosing_operation("TransactGetItems")}
    for one in array(call, "TransactItems"):
        get = _get(as_mapping(one, "TransactItems"))
        table = tables.get(string(get, "TableName"))
        context = {**table.leading_keys([attributes(get, "Key")]), **attributes_of(get), **select_of(get), **shared}
        yield AuthorizationRequest("dynamodb:GetItem", table.arn, context)


def transact_write_items(call: Parameters, tables: NamedTables) -> Iterator[AuthorizationRequest]:
    shared = {**consumed_capacity(call), **enclosing_operation("TransactWriteItems")}
    for kind, item in transaction_writes(call):
        table = tables.get(string(item, "TableName"))
        table.reject_key_update(changed_attributes(item))
        key = attributes(item, "Item" if kind == "Put" else "Key")
        context = {**table.leading_keys([key]), **attributes_of(item), **transaction_return_values(item), **shared}
        yield AuthorizationRequest(_ACTIONS[kind], table.arn, context)


def _get(one: Parameters) -> Mapping[str, Any]:
    if set(one) != {"Get"}:
        raise UnsupportedRequest("a transacted read is a Get")
    reject_unknown(mapping(one, "Get"), operations.GET, "Get")
    return mapping(one, "Get")
