"""What GetItem, BatchGetItem, Query and Scan ask for."""

from collections.abc import Iterator, Mapping
from typing import Any

from keyfence_iam.evaluator.authorisation import Authorisation
from keyfence_iam.evaluator.requests import members
from keyfence_iam.evaluator.requests.context import attributes_key, attributes_of, select_of
from keyfence_iam.evaluator.requests.key_condition import partition_asked
from keyfence_iam.evaluator.requests.mentioned import mentioned
from keyfence_iam.evaluator.requests.place import index_of
from keyfence_iam.evaluator.requests.shape import Holder, attributes, listing, mapping, only, optional_text, text
from keyfence_iam.evaluator.requests.table import Tables
from keyfence_iam.evaluator.requests.unconfirmed import consumed_capacity


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
        only(entry, members.KEYS_AND_ATTRIBUTES, "RequestItems")
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
