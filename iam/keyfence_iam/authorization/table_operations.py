"""Authorization requests of operations on tables, tags, resource policies and streams."""

import base64
from collections.abc import Iterator, Mapping

from keyfence_iam import arns, strict_json
from keyfence_iam.authorization.named_tables import ArnScope, AuthorizationBuilder, TableResolver, resource_arn
from keyfence_iam.authorization.request_condition_keys import ANY_RESOURCE, ANY_STREAM_LABEL, list_tables_resource
from keyfence_iam.dynamodb.request_parameters import Parameters, UnsupportedRequest, as_mapping, optional_string, string
from keyfence_iam.evaluator.request import AuthorizationRequest

_TABLE_NAME_OPERATIONS = (
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
_RESOURCE_ARN_OPERATIONS = (
    "TagResource",
    "UntagResource",
    "ListTagsOfResource",
    "GetResourcePolicy",
    "PutResourcePolicy",
    "DeleteResourcePolicy",
)
_OPERATIONS_WITHOUT_RESOURCE = ("DescribeLimits", "DescribeEndpoints", "ListStreams")
_STREAM_ARN_OPERATIONS = ("DescribeStream", "GetShardIterator")

_TABLE_INDEX_OR_STREAM = frozenset({None, "index", "stream"})
_STREAM_ONLY: frozenset[str | None] = frozenset({"stream"})
_ACTIONS_BY_PARAMETER = {"Tags": "dynamodb:TagResource", "ResourcePolicy": "dynamodb:PutResourcePolicy"}
"""The action that CreateTable needs in addition, if it has the parameter."""
_MULTI_REGION_PARAMETERS = (
    "GlobalTableSourceArn",
    "ReplicaUpdates",
    "GlobalTableWitnessUpdates",
    "MultiRegionConsistency",
)
"""Parameters of CreateTable and UpdateTable that affect other regions."""
_DYNOXIDE_ITERATOR_FIELDS = {"table_name", "shard_id", "position"}
"""The members of the JSON object in a shard iterator of dynoxide, which is a local DynamoDB engine."""


def _table_operation(operation: str) -> AuthorizationBuilder:
    """Returns a builder for an operation that names its table in `TableName`."""

    def build(call: Parameters, tables: TableResolver) -> Iterator[AuthorizationRequest]:
        if any(call.get(name) is not None for name in _MULTI_REGION_PARAMETERS):
            raise UnsupportedRequest(f"{operation} in several regions is not supported")
        table_arn, index = tables.arn(string(call, "TableName")), optional_string(call, "IndexName")
        yield AuthorizationRequest(f"dynamodb:{operation}", resource_arn(table_arn, index))
        for name, action in _ACTIONS_BY_PARAMETER.items():
            if call.get(name) is not None:
                yield AuthorizationRequest(action, table_arn)

    return build


def _arn_operation(operation: str, parameter: str, allowed_kinds: frozenset[str | None]) -> AuthorizationBuilder:
    """Returns a builder for an operation whose parameter is the ARN of its resource."""

    def build(call: Parameters, tables: TableResolver) -> Iterator[AuthorizationRequest]:
        arn = tables.scope.normalize_arn(string(call, parameter), allowed_kinds)
        yield AuthorizationRequest(f"dynamodb:{operation}", arn)

    return build


def _operation_without_resource(operation: str) -> AuthorizationBuilder:
    def build(_: Parameters, __: TableResolver) -> Iterator[AuthorizationRequest]:
        yield AuthorizationRequest(f"dynamodb:{operation}", ANY_RESOURCE)

    return build


def _list_tables(_: Parameters, tables: TableResolver) -> Iterator[AuthorizationRequest]:
    yield AuthorizationRequest("dynamodb:ListTables", list_tables_resource(tables.scope))


def _get_records(call: Parameters, tables: TableResolver) -> Iterator[AuthorizationRequest]:
    yield AuthorizationRequest("dynamodb:GetRecords", _stream_arn(string(call, "ShardIterator"), tables.scope))


def _stream_arn(iterator: str, scope: ArnScope) -> str:
    """Returns the ARN of an iterator's stream. Iterators of AWS and moto begin with the ARN: `<stream ARN>|1|...`."""
    arn, separator, _ = iterator.partition("|")
    return scope.normalize_arn(arn, _STREAM_ONLY) if separator else _dynoxide_stream_arn(iterator, scope)


def _dynoxide_stream_arn(iterator: str, scope: ArnScope) -> str:
    """Returns the ARN of all streams of the table, since an iterator of dynoxide names only the table."""
    try:
        fields = as_mapping(strict_json.parse(base64.b64decode(iterator, validate=True)), "iterator")
    except ValueError:
        raise UnsupportedRequest("the shard iterator does not name its stream") from None
    table = string(fields, "table_name")
    if fields.keys() != _DYNOXIDE_ITERATOR_FIELDS or not string(fields, "shard_id").endswith(f"-{table}"):
        raise UnsupportedRequest("the shard iterator does not name its stream")
    return arns.stream_arn(scope.parse_table(table).arn, ANY_STREAM_LABEL)


TABLE_OPERATION_BUILDERS: Mapping[str, AuthorizationBuilder] = {
    "ListTables": _list_tables,
    **{operation: _table_operation(operation) for operation in _TABLE_NAME_OPERATIONS},
    **{
        operation: _arn_operation(operation, "ResourceArn", _TABLE_INDEX_OR_STREAM)
        for operation in _RESOURCE_ARN_OPERATIONS
    },
    **{operation: _operation_without_resource(operation) for operation in _OPERATIONS_WITHOUT_RESOURCE},
}
STREAM_OPERATION_BUILDERS: Mapping[str, AuthorizationBuilder] = {
    **{operation: _arn_operation(operation, "StreamArn", _STREAM_ONLY) for operation in _STREAM_ARN_OPERATIONS},
    "GetRecords": _get_records,
}
