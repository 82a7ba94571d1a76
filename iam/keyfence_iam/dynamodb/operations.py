"""The operations of DynamoDB and DynamoDB Streams, their parameters, and the header `X-Amz-Target`."""

import re
from collections.abc import Mapping
from typing import Literal

WriteKind = Literal["Put", "Update", "Delete", "ConditionCheck"]
"""The kind of a write, with the name that TransactWriteItems gives it."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PLACEHOLDER_PARAMETERS = "ExpressionAttributeNames ExpressionAttributeValues "
_READ_PARAMETERS = (
    "TableName ConsistentRead ReturnConsumedCapacity AttributesToGet ProjectionExpression ExpressionAttributeNames "
)
_SEARCH_PARAMETERS = (
    _READ_PARAMETERS
    + "ExpressionAttributeValues IndexName Select Limit ExclusiveStartKey FilterExpression ConditionalOperator "
)
_CONDITION_PARAMETERS = "TableName ConditionExpression ReturnValuesOnConditionCheckFailure " + _PLACEHOLDER_PARAMETERS
_WRITE_PARAMETERS = _CONDITION_PARAMETERS + (
    "Expected ConditionalOperator ReturnValues ReturnConsumedCapacity ReturnItemCollectionMetrics "
)

PARAMETERS: Mapping[str, frozenset[str]] = {
    "GetItem": _names(_READ_PARAMETERS + "Key"),
    "Query": _names(_SEARCH_PARAMETERS + "KeyConditionExpression KeyConditions QueryFilter ScanIndexForward"),
    "Scan": _names(_SEARCH_PARAMETERS + "ScanFilter Segment TotalSegments"),
    "PutItem": _names(_WRITE_PARAMETERS + "Item"),
    "UpdateItem": _names(_WRITE_PARAMETERS + "Key UpdateExpression AttributeUpdates"),
    "DeleteItem": _names(_WRITE_PARAMETERS + "Key"),
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
"""The parameters of each operation on items. Other parameters are rejected, since their effect is not known."""

KEYS_AND_ATTRIBUTES_MEMBERS = _names(
    "Keys AttributesToGet ConsistentRead ProjectionExpression ExpressionAttributeNames"
)
PUT_REQUEST_MEMBERS = _names("Item")
DELETE_REQUEST_MEMBERS = _names("Key")
GET_MEMBERS = _names("Key TableName ProjectionExpression ExpressionAttributeNames")
"""The members of KeysAndAttributes, PutRequest, DeleteRequest and Get, which are types of the DynamoDB API."""

TRANSACTION_WRITE_MEMBERS: Mapping[WriteKind, frozenset[str]] = {
    "ConditionCheck": _names(_CONDITION_PARAMETERS + "Key"),
    "Put": _names(_CONDITION_PARAMETERS + "Item"),
    "Delete": _names(_CONDITION_PARAMETERS + "Key"),
    "Update": _names(_CONDITION_PARAMETERS + "Key UpdateExpression"),
}
"""The members of each kind of write in a TransactWriteItems."""

BATCHED_STATEMENT_MEMBERS = _names("Statement Parameters ConsistentRead ReturnValuesOnConditionCheckFailure")
TRANSACTED_STATEMENT_MEMBERS = _names("Statement Parameters ReturnValuesOnConditionCheckFailure")
"""The members of a statement in a batch, and of a statement in a transaction."""

WRITE_OPERATIONS = frozenset({"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"})
"""Operations that write items. PartiQL is not included, since only the statement says whether it writes."""

STREAM_OPERATIONS = frozenset({"ListStreams", "DescribeStream", "GetShardIterator", "GetRecords"})
CONTENT_TYPE = re.compile(rb"application/(?:x-amz-json-1\.0|json)\s*(?:;\s*charset=utf-8)?", re.IGNORECASE)
_TARGET = re.compile(rb"DynamoDB(Streams)?_20120810\.([A-Za-z]{1,64})")


def operation_of_target(target: bytes) -> str | None:
    """Returns the operation that X-Amz-Target names, or None if the header is malformed or names the wrong service.

    An operation that the gate does not support is returned too, and rejected later by the authorization.
    """
    match = _TARGET.fullmatch(target)
    if match is None:
        return None
    is_streams_target, operation = match[1] is not None, match[2].decode()
    return operation if is_streams_target == (operation in STREAM_OPERATIONS) else None
