"""Authorization requests of operations on tables, resources and streams."""

import base64
from collections.abc import Iterator, Mapping

from keyfence_iam import arns, strict_json
from keyfence_iam.authorization.named_tables import ArnScope, AuthorizationBuilder, NamedTables, index_arn
from keyfence_iam.authorization.undocumented_request_context import ANY_RESOURCE, ANY_STREAM_LABEL, list_tables_resource
from keyfence_iam.dynamodb.parameters import Parameters, UnsupportedRequest, as_mapping, optional_string, string
from keyfence_iam.evaluator.request import AuthorizationRequest

_WITH_TABLE_NAME = (
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
_WITH_RESOURCE_ARN = (
    "TagResource",
    "UntagResource",
    "ListTagsOfResource",
    "GetResourcePolicy",
    "PutResourcePolicy",
    "DeleteResourcePolicy",
)
_WITHOUT_RESOURCE = ("DescribeLimits", "DescribeEndpoints", "ListStreams")
_WITH_STREAM_ARN = ("DescribeStream", "GetShardIterator")

_ALL_KINDS = frozenset({None, "index", "stream"})
_STREAM: frozenset[str | None] = frozenset({"stream"})
_FURTHER_ACTIONS = {"Tags": "dynamodb:TagResource", "ResourcePolicy": "dynamodb:PutResourcePolicy"}
"""Parameters of CreateTable that need a further action."""
_MULTI_REGION = ("GlobalTableSourceArn", "ReplicaUpdates", "GlobalTableWitnessUpdates", "MultiRegionConsistency")
"""Parameters of CreateTable and UpdateTable that affect other regions."""
_DYNOXIDE_ITERATOR = {"table_name", "shard_id", "position"}


def _on_table(operation: str) -> AuthorizationBuilder:
    def build(call: Parameters, tables: NamedTables) -> Iterator[AuthorizationRequest]:
        if any(call.get(name) is not None for name in _MULTI_REGION):
            raise UnsupportedRequest(f"{operation} in several regions is not supported")
        arn, index = tables.resource(string(call, "TableName")), optional_string(call, "IndexName")
        yield AuthorizationRequest(f"dynamodb:{operation}", arn if index is None else index_arn(arn, index))
        for name, action in _FURTHER_ACTIONS.items():
            if call.get(name) is not None:
                yield AuthorizationRequest(action, arn)

    return build


def _on_arn(operation: str, parameter: str, kinds: frozenset[str | None]) -> AuthorizationBuilder:
    def build(call: Parameters, tables: NamedTables) -> Iterator[AuthorizationRequest]:
        yield AuthorizationRequest(f"dynamodb:{operation}", tables.scope.resource(string(call, parameter), kinds))

    return build


def _on_any_resource(operation: str) -> AuthorizationBuilder:
    def build(_: Parameters, __: NamedTables) -> Iterator[AuthorizationRequest]:
        yield AuthorizationRequest(f"dynamodb:{operation}", ANY_RESOURCE)

    return build


def _list_tables(_: Parameters, tables: NamedTables) -> Iterator[AuthorizationRequest]:
    yield AuthorizationRequest("dynamodb:ListTables", list_tables_resource(tables.scope))


def _get_records(call: Parameters, tables: NamedTables) -> Iterator[AuthorizationRequest]:
    yield AuthorizationRequest("dynamodb:GetRecords", _stream_of(string(call, "ShardIterator"), tables.scope))


def _stream_of(iterator: str, scope: ArnScope) -> str:
    """Return the ARN of an iterator's stream. Iterators of AWS and moto begin with it: `<stream ARN>|1|...`."""
    arn, separator, _ = iterator.partition("|")
    return scope.resource(arn, _STREAM) if separator else _stream_of_dynoxide(iterator, scope)


def _stream_of_dynoxide(iterator: str, scope: ArnScope) -> str:
    """Return the ARN of any stream of the table: dynoxide's iterators name only the table."""
    try:
        position = as_mapping(strict_json.parse(base64.b64decode(iterator, validate=True)), "iterator")
    except ValueError:
        raise UnsupportedRequest("the shard iterator does not name its stream") from None
    table = string(position, "table_name")
    if position.keys() != _DYNOXIDE_ITERATOR or not string(position, "shard_id").endswith(f"-{table}"):
        raise UnsupportedRequest("the shard iterator does not name its stream")
    return arns.stream_arn(scope.locate(table).arn, ANY_STREAM_LABEL)


TABLE_OPERATIONS: Mapping[str, AuthorizationBuilder] = {
    "ListTables": _list_tables,
    **{operation: _on_table(operation) for operation in _WITH_TABLE_NAME},
    **{operation: _on_arn(operation, "ResourceArn", _ALL_KINDS) for operation in _WITH_RESOURCE_ARN},
    **{operation: _on_any_resource(operation) for operation in _WITHOUT_RESOURCE},
}
STREAM_OPERATIONS: Mapping[str, AuthorizationBuilder] = {
    **{operation: _on_arn(operation, "StreamArn", _STREAM) for operation in _WITH_STREAM_ARN},
    "GetRecords": _get_records,
}
