"""Values of condition keys and resources for which AWS documents no rule. Leading keys are in another module.

Each value is an assumption that has to be confirmed on a real AWS account.
"""

from collections.abc import Mapping

from keyfence_iam.authorization.named_tables import ArnScope
from keyfence_iam.dynamodb.request_parameters import Parameters, choice
from keyfence_iam.evaluator.request import ContextValue

ANY_RESOURCE = "*"
"""The resource of ListStreams, DescribeLimits and DescribeEndpoints."""

ANY_STREAM_LABEL = "*"
"""The label of a stream if a shard iterator names only the table. Only a pattern that ends in * matches it."""

DISCLOSURE_ORDER: Mapping[str, Mapping[str, int]] = {
    "dynamodb:Select": {"COUNT": 0, "SPECIFIC_ATTRIBUTES": 1, "ALL_PROJECTED_ATTRIBUTES": 2, "ALL_ATTRIBUTES": 3},
    "dynamodb:ReturnValues": {"NONE": 0, "UPDATED_OLD": 1, "UPDATED_NEW": 2, "ALL_OLD": 3, "ALL_NEW": 4},
}
"""The values of a condition key. A value with a higher number discloses more.

If the parts of a batch have different values, the value with the highest number is evaluated.
"""

_RETURN_CONSUMED_CAPACITY = frozenset({"NONE", "TOTAL", "INDEXES"})
_RETURN_VALUES_ON_FAILURE = frozenset({"NONE", "ALL_OLD"})


def return_consumed_capacity_key(call: Parameters) -> dict[str, ContextValue]:
    """Returns the condition key with the value of the call's parameter.

    The value can also be INDEXES, although AWS documents only TOTAL and NONE for the condition key.
    """
    value = choice(call, "ReturnConsumedCapacity", _RETURN_CONSUMED_CAPACITY, "NONE")
    return {"dynamodb:ReturnConsumedCapacity": value}


def transaction_return_values_key(write: Parameters) -> dict[str, ContextValue]:
    """Returns the condition key dynamodb:ReturnValues for a write in a transaction.

    Such a write has no parameter ReturnValues. The value comes from ReturnValuesOnConditionCheckFailure.
    """
    value = choice(write, "ReturnValuesOnConditionCheckFailure", _RETURN_VALUES_ON_FAILURE, "NONE")
    return {"dynamodb:ReturnValues": value}


def enclosing_operation_key(operation: str) -> dict[str, ContextValue]:
    """Returns the condition key that every part of a transaction has.

    ConditionCheckItem has it too, although AWS does not list the key for this action.
    """
    return {"dynamodb:EnclosingOperation": operation}


def list_tables_resource(scope: ArnScope) -> str:
    """Returns the ARN that AWS shows in the error message when it denies ListTables."""
    return scope.table_arn("*")
