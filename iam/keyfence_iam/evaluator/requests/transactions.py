"""What TransactGetItems and TransactWriteItems ask for, item by item."""

from collections.abc import Iterator, Mapping
from typing import Any

from keyfence_iam.evaluator.authorisation import Authorisation
from keyfence_iam.evaluator.requests import members
from keyfence_iam.evaluator.requests.context import attributes_of, select_of
from keyfence_iam.evaluator.requests.mentioned import changed
from keyfence_iam.evaluator.requests.refusal import NotUnderstood
from keyfence_iam.evaluator.requests.shape import Holder, as_mapping, attributes, listing, mapping, only, text
from keyfence_iam.evaluator.requests.table import Tables
from keyfence_iam.evaluator.requests.unconfirmed import consumed_capacity, enclosed, returned_in_transaction

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


def transacted(call: Holder) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The kind and the parameters of every write, each of exactly one kind."""
    for one in listing(call, "TransactItems"):
        write = as_mapping(one, "TransactItems")
        if len(write) != 1 or not members.TRANSACTED.keys() >= write.keys():
            raise NotUnderstood("a transacted write is one of Put, Update, Delete and ConditionCheck")
        (kind,) = write
        only(mapping(write, kind), members.TRANSACTED[kind], kind)
        yield kind, write[kind]


def _get(one: Holder) -> Mapping[str, Any]:
    if set(one) != {"Get"}:
        raise NotUnderstood("a transacted read is a Get")
    only(mapping(one, "Get"), members.GET, "Get")
    return mapping(one, "Get")
