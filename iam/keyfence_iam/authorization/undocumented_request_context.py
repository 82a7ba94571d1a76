"""Condition keys and resources that AWS does not document. Each is a decision to be confirmed on a real account."""

from collections.abc import Mapping

from keyfence_iam.authorization.named_tables import ArnScope
from keyfence_iam.dynamodb.parameters import Parameters, choice
from keyfence_iam.evaluator.request import ContextValue

ANY_RESOURCE = "*"
"""The resource of ListStreams, DescribeLimits and DescribeEndpoints."""

ANY_STREAM_LABEL = "*"
"""The label of a stream if a shard iterator names only the table. Only a pattern that ends in * matches it."""

DISCLOSURE_ORDER: Mapping[str, Mapping[str, int]] = {
    "dynamodb:Select": {"COUNT": 0, "SPECIFIC_ATTRIBUTES": 1, "ALL_PROJECTED_ATTRIBUTES": 2, "ALL_ATTRIBUTES": 3},
    "dynamodb:ReturnValues": {"NONE": 0, "UPDATED_OLD": 1, "UPDATED_NEW": 2, "ALL_OLD": 3, "ALL_NEW": 4},
}
"""If the parts of a batch have different values, the request has the value that discloses most."""

_CAPACITY = frozenset({"NONE", "TOTAL", "INDEXES"})
_ON_FAILURE = frozenset({"NONE", "ALL_OLD"})


def consumed_capacity(call: Parameters) -> dict[str, ContextValue]:
    """INDEXES is sent as it is, although AWS documents only TOTAL and NONE for this condition key."""
    return {"dynamodb:ReturnConsumedCapacity": choice(call, "ReturnConsumedCapacity", _CAPACITY, "NONE")}


def transaction_return_values(write: Parameters) -> dict[str, ContextValue]:
    """In a transaction ReturnValues is what the response discloses if a condition fails."""
    return {"dynamodb:ReturnValues": choice(write, "ReturnValuesOnConditionCheckFailure", _ON_FAILURE, "NONE")}


def enclosing_operation(operation: str) -> dict[str, ContextValue]:
    """Every part of a transaction has this key, also ConditionCheckItem, for which AWS does not list it."""
    return {"dynamodb:EnclosingOperation": operation}


def list_tables_resource(scope: ArnScope) -> str:
    """AWS names this ARN when it denies ListTables."""
    return scope.table_arn("*")
