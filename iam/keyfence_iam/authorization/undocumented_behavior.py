"""What AWS does not document, decided here and nowhere else; each choice waits for a real account."""

from collections.abc import Mapping

from keyfence_iam.authorization.arns import ArnScope
from keyfence_iam.dynamodb.parameters import Parameters, choice
from keyfence_iam.evaluator.request import ContextValue

CAPACITY = frozenset({"NONE", "TOTAL", "INDEXES"})
FAILURE = frozenset({"NONE", "ALL_OLD"})


def consumed_capacity(call: Parameters) -> dict[str, ContextValue]:
    """INDEXES is passed on as it is, though the condition key is documented with TOTAL and NONE only."""
    return {"dynamodb:ReturnConsumedCapacity": choice(call, "ReturnConsumedCapacity", CAPACITY, "NONE")}


def transaction_return_values(item: Parameters) -> dict[str, ContextValue]:
    """In a transaction ReturnValues is what a failed condition would give away."""
    failing = choice(item, "ReturnValuesOnConditionCheckFailure", FAILURE, "NONE")
    return {"dynamodb:ReturnValues": failing}


def enclosing_operation(operation: str) -> dict[str, ContextValue]:
    """Every part of a transaction names it, also ConditionCheckItem, for which the reference does not list the key."""
    return {"dynamodb:EnclosingOperation": operation}


def list_tables_resource(place: ArnScope) -> str:
    """Refusals of ListTables are printed with this ARN."""
    return place.table_arn("*")


ANY_RESOURCE = "*"
"""The resource of ListStreams, DescribeLimits and DescribeEndpoints."""

ANY_STREAM_LABEL = "*"
"""Stands for the label of a stream where an iterator names only its table; only a pattern that ends in * matches it."""

DISCLOSURE_ORDER: Mapping[str, Mapping[str, int]] = {
    "dynamodb:Select": {"COUNT": 0, "SPECIFIC_ATTRIBUTES": 1, "ALL_PROJECTED_ATTRIBUTES": 2, "ALL_ATTRIBUTES": 3},
    "dynamodb:ReturnValues": {"NONE": 0, "UPDATED_OLD": 1, "UPDATED_NEW": 2, "ALL_OLD": 3, "ALL_NEW": 4},
}
"""Of several values in one batch, the one that gives away most is asked for."""
