"""What calls to DynamoDB Streams ask for; an iterator tells which stream it walks."""

import base64
import json
from collections.abc import Iterator
from typing import Any

from keyfence_iam.evaluator.authorisation import Authorisation
from keyfence_iam.evaluator.requests.place import Place
from keyfence_iam.evaluator.requests.refusal import NotUnderstood
from keyfence_iam.evaluator.requests.shape import Holder, as_mapping, text
from keyfence_iam.evaluator.requests.table import Tables
from keyfence_iam.evaluator.requests.unconfirmed import ANY_LABEL, NOT_ABOUT_A_TABLE

_STREAM: frozenset[str | None] = frozenset({"stream"})
_POSITION = {"table_name", "shard_id", "position"}


def list_streams(call: Holder, tables: Tables) -> Iterator[Authorisation]:  # noqa: ARG001 - the signature of an Expander
    yield Authorisation("dynamodb:ListStreams", NOT_ABOUT_A_TABLE)


def describe_stream(call: Holder, tables: Tables) -> Iterator[Authorisation]:
    yield Authorisation("dynamodb:DescribeStream", tables.place.resource(text(call, "StreamArn"), _STREAM))


def get_shard_iterator(call: Holder, tables: Tables) -> Iterator[Authorisation]:
    yield Authorisation("dynamodb:GetShardIterator", tables.place.resource(text(call, "StreamArn"), _STREAM))


def get_records(call: Holder, tables: Tables) -> Iterator[Authorisation]:
    yield Authorisation("dynamodb:GetRecords", _walked(text(call, "ShardIterator"), tables.place))


def _walked(iterator: str, place: Place) -> str:
    """`<stream ARN>|1|...` in AWS and moto; dynoxide's holds the table's name only."""
    arn, bar, _ = iterator.partition("|")
    return place.resource(arn, _STREAM) if bar else _of_table(iterator, place)


def _of_table(iterator: str, place: Place) -> str:
    try:
        position = as_mapping(
            json.loads(base64.b64decode(iterator, validate=True), object_pairs_hook=_once), "iterator"
        )
    except (ValueError, RecursionError):
        raise NotUnderstood("an iterator that does not name its stream") from None
    table = text(position, "table_name")
    if position.keys() != _POSITION or not text(position, "shard_id").endswith(f"-{table}"):
        raise NotUnderstood("an iterator that does not name its stream")
    return f"{place.locate(table).arn}/stream/{ANY_LABEL}"


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A name given twice would be read by one and overlooked by another."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise NotUnderstood("an iterator with a name given twice")
    return found
