"""What PutItem, UpdateItem, DeleteItem and BatchWriteItem ask for."""

from collections.abc import Iterator, Mapping
from typing import Any

from keyfence_iam.evaluator.authorisation import Authorisation
from keyfence_iam.evaluator.requests import members
from keyfence_iam.evaluator.requests.context import attributes_key, attributes_of, returned_of
from keyfence_iam.evaluator.requests.mentioned import changed
from keyfence_iam.evaluator.requests.refusal import NotUnderstood
from keyfence_iam.evaluator.requests.shape import Holder, as_mapping, attributes, listing, mapping, only, text
from keyfence_iam.evaluator.requests.table import Tables
from keyfence_iam.evaluator.requests.unconfirmed import consumed_capacity


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


def written(requests: list[Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """`Item` or `Key`, and its attributes, of every request in a batch."""
    for request in requests:
        match as_mapping(request, "a write request"):
            case {"PutRequest": put, **rest} if not rest:
                only(as_mapping(put, "PutRequest"), members.PUT_REQUEST, "PutRequest")
                yield "Item", attributes(put, "Item")
            case {"DeleteRequest": delete, **rest} if not rest:
                only(as_mapping(delete, "DeleteRequest"), members.DELETE_REQUEST, "DeleteRequest")
                yield "Key", attributes(delete, "Key")
            case _:
                raise NotUnderstood("a write request is either a PutRequest or a DeleteRequest")


def _write(action: str, call: Holder, item: str, tables: Tables) -> Authorisation:
    table = tables.named(text(call, "TableName"))
    context = {
        **table.led_by([attributes(call, item)]),
        **attributes_of(call),
        **returned_of(call),
        **consumed_capacity(call),
    }
    return Authorisation(f"dynamodb:{action}", table.arn, context)
