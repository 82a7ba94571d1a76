"""Table and stream calls."""

import base64
from collections.abc import Callable, Iterator, Mapping

from keyfence_iam import strict_json
from keyfence_iam.authorization.arns import ArnScope, NamedTables, index_arn
from keyfence_iam.authorization.undocumented_behavior import ANY_RESOURCE, ANY_STREAM_LABEL, list_tables_resource
from keyfence_iam.dynamodb.parameters import Parameters, UnsupportedRequest, as_mapping, optional_string, string
from keyfence_iam.evaluator.request import AuthorizationRequest

Expander = Callable[[Parameters, NamedTables], Iterator[AuthorizationRequest]]

_ABOUT_A_TABLE = (
    "CreateTable",
    "DescribeTable",
    "UpdateTable",
    "DeleteTable",
    "DescribeTimeToLive",
    "UpdateTimeToLive",
    "DescribeContinuousBackups",
    "UpdateContinuousBackups",
    "DescribeContributorInsights",
    "UpdateContributorInsights",
    "DescribeKinesisStreamingDestination",
)
_ABOUT_A_RESOURCE = (
    "TagResource",
    "UntagResource",
    "ListTagsOfResource",
    "GetResourcePolicy",
    "PutResourcePolicy",
    "DeleteResourcePolicy",
)
_ABOUT_NOTHING = ("DescribeLimits", "DescribeEndpoints")
_RESOURCES = frozenset({None, "index", "stream"})

_ALSO_ASKED = {"Tags": "dynamodb:TagResource", "ResourcePolicy": "dynamodb:PutResourcePolicy"}
_ELSEWHERE = ("GlobalTableSourceArn", "ReplicaUpdates", "GlobalTableWitnessUpdates", "MultiRegionConsistency")
"""Parameters of CreateTable and UpdateTable that reach into other regions."""


def _table(operation: str) -> Expander:
    def expand(call: Parameters, tables: NamedTables) -> Iterator[AuthorizationRequest]:
        if any(call.get(name) is not None for name in _ELSEWHERE):
            raise UnsupportedRequest(f"{operation} in several regions")
        arn, index = tables.resource(string(call, "TableName")), optional_string(call, "IndexName")
        yield AuthorizationRequest(f"dynamodb:{operation}", arn if index is None else index_arn(arn, index))
        for name, action in _ALSO_ASKED.items():
            if call.get(name) is not None:
                yield AuthorizationRequest(action, arn)

    return expand


def _resource(operation: str) -> Expander:
    def expand(call: Parameters, tables: NamedTables) -> Iterator[AuthorizationRequest]:
        resource = tables.scope.resource(string(call, "ResourceArn"), _RESOURCES)
        yield AuthorizationRequest(f"dynamodb:{operation}", resource)

    return expand


def _nothing(operation: str) -> Expander:
    def expand(call: Parameters, tables: NamedTables) -> Iterator[AuthorizationRequest]:  # noqa: ARG001 - the signature of an Expander
        yield AuthorizationRequest(f"dynamodb:{operation}", ANY_RESOURCE)

    return expand


def _list_tables(call: Parameters, tables: NamedTables) -> Iterator[AuthorizationRequest]:  # noqa: ARG001 - the signature of an Expander
    yield AuthorizationRequest("dynamodb:ListTables", list_tables_resource(tables.scope))


TABLE_OPERATIONS: Mapping[str, Expander] = {
    "ListTables": _list_tables,
    **{operation: _table(operation) for operation in _ABOUT_A_TABLE},
    **{operation: _resource(operation) for operation in _ABOUT_A_RESOURCE},
    **{operation: _nothing(operation) for operation in _ABOUT_NOTHING},
}


_STREAM: frozenset[str | None] = frozenset({"stream"})
_POSITION = {"table_name", "shard_id", "position"}


def list_streams(call: Parameters, tables: NamedTables) -> Iterator[AuthorizationRequest]:  # noqa: ARG001 - the signature of an Expander
    yield AuthorizationRequest("dynamodb:ListStreams", ANY_RESOURCE)


def describe_stream(call: Parameters, tables: NamedTables) -> Iterator[AuthorizationRequest]:
    yield AuthorizationRequest("dynamodb:DescribeStream", tables.scope.resource(string(call, "StreamArn"), _STREAM))


def get_shard_iterator(call: Parameters, tables: NamedTables) -> Iterator[AuthorizationRequest]:
    yield AuthorizationRequest("dynamodb:GetShardIterator", tables.scope.resource(string(call, "StreamArn"), _STREAM))


def get_records(call: Parameters, tables: NamedTables) -> Iterator[AuthorizationRequest]:
    yield AuthorizationRequest("dynamodb:GetRecords", _walked(string(call, "ShardIterator"), tables.scope))


def _walked(iterator: str, place: ArnScope) -> str:
    """`<stream ARN>|1|...` in AWS and moto; dynoxide's holds the table's name only."""
    arn, bar, _ = iterator.partition("|")
    return place.resource(arn, _STREAM) if bar else _of_table(iterator, place)


def _of_table(iterator: str, place: ArnScope) -> str:
    try:
        position = as_mapping(strict_json.parse(base64.b64decode(iterator, validate=True)), "iterator")
    except ValueError:
        raise UnsupportedRequest("an iterator that does not name its stream") from None
    table = string(position, "table_name")
    if position.keys() != _POSITION or not string(position, "shard_id").endswith(f"-{table}"):
        raise UnsupportedRequest("an iterator that does not name its stream")
    return f"{place.locate(table).arn}/stream/{ANY_STREAM_LABEL}"
