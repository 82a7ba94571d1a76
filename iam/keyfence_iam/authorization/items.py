"""Item calls, batches, transactions."""

from collections.abc import Iterator, Mapping
from typing import Any

from keyfence_iam.authorization.arns import Tables, index_of
from keyfence_iam.authorization.assumptions import consumed_capacity, enclosed, returned_in_transaction
from keyfence_iam.authorization.leading_keys import partition_asked
from keyfence_iam.dynamodb import operations
from keyfence_iam.dynamodb.attributes import changed, mentioned, projects
from keyfence_iam.dynamodb.calls import transacted, written
from keyfence_iam.dynamodb.parameters import (
    Holder,
    NotUnderstood,
    as_mapping,
    attributes,
    choice,
    listing,
    mapping,
    only,
    optional_text,
    text,
)
from keyfence_iam.evaluator.request import Authorisation, Value

SELECT = frozenset({"ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES", "SPECIFIC_ATTRIBUTES", "COUNT"})
RETURN_VALUES = frozenset({"NONE", "ALL_OLD", "UPDATED_OLD", "ALL_NEW", "UPDATED_NEW"})


def attributes_key(names: tuple[str, ...]) -> dict[str, Value]:
    """Absent, not empty, where no attribute is mentioned."""
    return {"dynamodb:Attributes": names} if names else {}


def attributes_of(call: Holder) -> dict[str, Value]:
    return attributes_key(mentioned(call))


def select_of(call: Holder, index: str | None = None) -> dict[str, Value]:
    whole = "ALL_ATTRIBUTES" if index is None else "ALL_PROJECTED_ATTRIBUTES"
    default = "SPECIFIC_ATTRIBUTES" if projects(call) else whole
    return {"dynamodb:Select": choice(call, "Select", SELECT, default)}


def returned_of(call: Holder) -> dict[str, Value]:
    return {"dynamodb:ReturnValues": choice(call, "ReturnValues", RETURN_VALUES, "NONE")}


def get_item(call: Holder, tables: Tables) -> Iterator[Authorisation]:
    table = tables.named(text(call, "TableName"))
    context = {
        **table.led_by([attributes(call, "Key")]),
        **attributes_of(call),
        **select_of(call),
        **consumed_capacity(call),
    }
    yield Authorisation("dynamodb:GetItem", table.arn, context)


def batch_get_item(call: Holder, tables: Tables) -> Iterator[Authorisation]:
    for named in mapping(call, "RequestItems"):
        entry = mapping(mapping(call, "RequestItems"), named)
        only(entry, operations.KEYS_AND_ATTRIBUTES, "RequestItems")
        table, keys = tables.named(named), _keys(entry)
        context = {
            **table.led_by(keys),
            **attributes_key(_together([*keys, dict.fromkeys(mentioned(entry))])),
            **select_of(entry),
            **consumed_capacity(call),
        }
        yield Authorisation("dynamodb:BatchGetItem", table.arn, context)


def query(call: Holder, tables: Tables) -> Iterator[Authorisation]:
    """On an index it is the index alone that is asked for, and the index's own partition key."""
    table, index = tables.named(text(call, "TableName")), optional_text(call, "IndexName")
    context = {
        **attributes_of(call),
        **(partition_asked(call, table.keys.partition_of(index)) if table.keys else {}),
        **select_of(call, index),
        **consumed_capacity(call),
    }
    yield Authorisation("dynamodb:Query", table.resource(index), context)


def scan(call: Holder, tables: Tables) -> Iterator[Authorisation]:
    """Without leading keys: it returns items whatever leads them."""
    arn, index = tables.resource(text(call, "TableName")), optional_text(call, "IndexName")
    context = {**attributes_of(call), **select_of(call, index), **consumed_capacity(call)}
    yield Authorisation("dynamodb:Scan", arn if index is None else index_of(arn, index), context)


def _keys(entry: Holder) -> list[Mapping[str, Any]]:
    return [attributes({"Keys": key}, "Keys") for key in listing(entry, "Keys")]


def _together(items: list[Mapping[str, Any]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for item in items for name in item))


def put_item(call: Holder, tables: Tables) -> Iterator[Authorisation]:
    yield _write("PutItem", call, "Item", tables)


def update_item(call: Holder, tables: Tables) -> Iterator[Authorisation]:
    tables.named(text(call, "TableName")).keep(changed(call))
    yield _write("UpdateItem", call, "Key", tables)


def delete_item(call: Holder, tables: Tables) -> Iterator[Authorisation]:
    yield _write("DeleteItem", call, "Key", tables)


def batch_write_item(call: Holder, tables: Tables) -> Iterator[Authorisation]:
    """One action of its own, whether items are put or deleted."""
    requests = mapping(call, "RequestItems")
    for named in requests:
        table, items = tables.named(named), [item for _, item in written(listing(requests, named))]
        names = tuple(dict.fromkeys(name for item in items for name in item))
        context = {**table.led_by(items), **attributes_key(names), **consumed_capacity(call)}
        yield Authorisation("dynamodb:BatchWriteItem", table.arn, context)


def _write(action: str, call: Holder, item: str, tables: Tables) -> Authorisation:
    table = tables.named(text(call, "TableName"))
    context = {
        **table.led_by([attributes(call, item)]),
        **attributes_of(call),
        **returned_of(call),
        **consumed_capacity(call),
    }
    return Authorisation(f"dynamodb:{action}", table.arn, context)


_ACTIONS = {
    "Put": "dynamodb:PutItem",
    "Update": "dynamodb:UpdateItem",
    "Delete": "dynamodb:DeleteItem",
    "ConditionCheck": "dynamodb:ConditionCheckItem",
}


def transact_get_items(call: Holder, tables: Tables) -> Iterator[Authorisation]:
    shared = {**consumed_capacity(call), **enclosed("TransactGetItems")}
    for one in listing(call, "TransactItems"):
        get = _get(as_mapping(one, "TransactItems"))
        table = tables.named(text(get, "TableName"))
        context = {**table.led_by([attributes(get, "Key")]), **attributes_of(get), **select_of(get), **shared}
        yield Authorisation("dynamodb:GetItem", table.arn, context)


def transact_write_items(call: Holder, tables: Tables) -> Iterator[Authorisation]:
    shared = {**consumed_capacity(call), **enclosed("TransactWriteItems")}
    for kind, item in transacted(call):
        table = tables.named(text(item, "TableName"))
        table.keep(changed(item))
        key = attributes(item, "Item" if kind == "Put" else "Key")
        context = {**table.led_by([key]), **attributes_of(item), **returned_in_transaction(item), **shared}
        yield Authorisation(_ACTIONS[kind], table.arn, context)


def _get(one: Holder) -> Mapping[str, Any]:
    if set(one) != {"Get"}:
        raise NotUnderstood("a transacted read is a Get")
    only(mapping(one, "Get"), operations.GET, "Get")
    return mapping(one, "Get")
