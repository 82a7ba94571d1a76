"""Operations of DynamoDB and DynamoDB Streams, their parameters, and the header `X-Amz-Target`."""

import re
from collections.abc import Mapping
from typing import Literal

WriteKind = Literal["Put", "Update", "Delete", "ConditionCheck"]
"""The kinds of a write in a transaction."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ALIASES = "ExpressionAttributeNames ExpressionAttributeValues "
_READ = "TableName ConsistentRead ReturnConsumedCapacity AttributesToGet ProjectionExpression ExpressionAttributeNames "
_SEARCH = (
    _READ + "ExpressionAttributeValues IndexName Select Limit ExclusiveStartKey FilterExpression ConditionalOperator "
)
_CONDITION = "TableName ConditionExpression ReturnValuesOnConditionCheckFailure " + _ALIASES
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

KEYS_AND_ATTRIBUTES = _names("Keys AttributesToGet ConsistentRead ProjectionExpression ExpressionAttributeNames")
PUT_REQUEST = _names("Item")
DELETE_REQUEST = _names("Key")
GET = _names("Key TableName ProjectionExpression ExpressionAttributeNames")

TRANSACTION_PARAMETERS: Mapping[WriteKind, frozenset[str]] = {
    "ConditionCheck": _names(_CONDITION + "Key"),
    "Put": _names(_CONDITION + "Item"),
    "Delete": _names(_CONDITION + "Key"),
    "Update": _names(_CONDITION + "Key UpdateExpression"),
}

BATCHED_STATEMENT = _names("Statement Parameters ConsistentRead ReturnValuesOnConditionCheckFailure")
TRANSACTED_STATEMENT = _names("Statement Parameters ReturnValuesOnConditionCheckFailure")


WRITE_OPERATIONS = frozenset({"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"})
"""Operations that write items. Those of PartiQL are missing: only their statements say what they do."""

STREAM_OPERATIONS = frozenset({"ListStreams", "DescribeStream", "GetShardIterator", "GetRecords"})
CONTENT_TYPE = re.compile(rb"application/(?:x-amz-json-1\.0|json)\s*(?:;\s*charset=utf-8)?", re.IGNORECASE)
_TARGET = re.compile(rb"DynamoDB(Streams)?_20120810\.([A-Za-z]{1,64})")


def operation_of_target(target: bytes) -> str | None:
    """Return the operation that the header names, or None if neither service can have it.

    A name that the gate does not know is returned too: the authorization rejects it.
    """
    found = _TARGET.fullmatch(target)
    if found is None:
        return None
    operation = found[2].decode()
    return operation if (found[1] is not None) == (operation in STREAM_OPERATIONS) else None
