"""The operations of DynamoDB and DynamoDB Streams, their parameters, and the header `X-Amz-Target`."""

import re
from collections.abc import Mapping
from typing import Literal

WriteKind = Literal["Put", "Update", "Delete", "ConditionCheck"]
"""The kind of one write in a transaction."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PLACEHOLDERS = "ExpressionAttributeNames ExpressionAttributeValues "
_READ = "TableName ConsistentRead ReturnConsumedCapacity AttributesToGet ProjectionExpression ExpressionAttributeNames "
_SEARCH = (
    _READ + "ExpressionAttributeValues IndexName Select Limit ExclusiveStartKey FilterExpression ConditionalOperator "
)
_CONDITION = "TableName ConditionExpression ReturnValuesOnConditionCheckFailure " + _PLACEHOLDERS
_WRITE = _CONDITION + ("Expected ConditionalOperator ReturnValues ReturnConsumedCapacity ReturnItemCollectionMetrics ")

PARAMETERS: Mapping[str, frozenset[str]] = {
    "GetItem": _names(_READ + "Key"),
    "Query": _names(_SEARCH + "KeyConditionExpression KeyConditions QueryFilter ScanIndexForward"),
    "Scan": _names(_SEARCH + "ScanFilter Segment TotalSegments"),
    "PutItem": _names(_WRITE + "Item"),
    "UpdateItem": _names(_WRITE + "Key UpdateExpression AttributeUpdates"),
    "DeleteItem": _names(_WRITE + "Key"),
    "BatchGetItem": _names("RequestItems ReturnConsumedCapacity"),
    "BatchWriteItem": _names("RequestItems ReturnConsumedCapacity ReturnItemCollectionMetrics"),
    "TransactGetItems": _names("TransactItems ReturnConsumedCapacity"),
    "TransactWriteItems": _names("TransactItems ReturnConsumedCapacity ReturnItemCollectionMetrics ClientRequestToken"),
    "ExecuteStatement": _names(
        "Statement Parameters ConsistentRead NextToken ReturnConsumedCapacity Limit ReturnValuesOnConditionCheckFailure"
    ),
    "BatchExecuteStatement": _names("Statements ReturnConsumedCapacity"),
    "ExecuteTransaction": _names("TransactStatements ClientRequestToken ReturnConsumedCapacity"),
}
"""The parameters of each operation on items. A call with another parameter is rejected: its effect is not known."""

KEYS_AND_ATTRIBUTES = _names("Keys AttributesToGet ConsistentRead ProjectionExpression ExpressionAttributeNames")
PUT_REQUEST = _names("Item")
DELETE_REQUEST = _names("Key")
GET = _names("Key TableName ProjectionExpression ExpressionAttributeNames")
"""KEYS_AND_ATTRIBUTES, PUT_REQUEST, DELETE_REQUEST and GET: the members of DynamoDB's types of these names."""

TRANSACTION_PARAMETERS: Mapping[WriteKind, frozenset[str]] = {
    "ConditionCheck": _names(_CONDITION + "Key"),
    "Put": _names(_CONDITION + "Item"),
    "Delete": _names(_CONDITION + "Key"),
    "Update": _names(_CONDITION + "Key UpdateExpression"),
}
"""The members of each kind of write in a TransactWriteItems."""

BATCHED_STATEMENT = _names("Statement Parameters ConsistentRead ReturnValuesOnConditionCheckFailure")
TRANSACTED_STATEMENT = _names("Statement Parameters ReturnValuesOnConditionCheckFailure")
"""BATCHED_STATEMENT and TRANSACTED_STATEMENT: the members of a statement in a batch or in a transaction."""

WRITE_OPERATIONS = frozenset({"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"})
"""Operations that write items. PartiQL is not included, since only the statement says whether it writes."""

STREAM_OPERATIONS = frozenset({"ListStreams", "DescribeStream", "GetShardIterator", "GetRecords"})
CONTENT_TYPE = re.compile(rb"application/(?:x-amz-json-1\.0|json)\s*(?:;\s*charset=utf-8)?", re.IGNORECASE)
_TARGET = re.compile(rb"DynamoDB(Streams)?_20120810\.([A-Za-z]{1,64})")


def operation_of_target(target: bytes) -> str | None:
    """Returns the operation in the header, or None if the header is malformed or names the wrong service.

    An operation that the gate does not support is returned too, and rejected later by the authorization.
    """
    match = _TARGET.fullmatch(target)
    if match is None:
        return None
    names_streams, operation = match[1] is not None, match[2].decode()
    return operation if names_streams == (operation in STREAM_OPERATIONS) else None
