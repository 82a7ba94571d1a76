"""The condition key `dynamodb:LeadingKeys`: from the keys of items, and from the key condition of a Query."""

from collections.abc import Iterable, Iterator, Sequence

from keyfence_iam.dynamodb.attributes import resolve_name
from keyfence_iam.dynamodb.expressions.expression_parser import parse_condition
from keyfence_iam.dynamodb.request_parameters import (
    Parameters,
    UnsupportedRequest,
    array,
    as_mapping,
    key_string,
    mapping,
    optional_mapping,
    string,
)
from keyfence_iam.evaluator.request import ContextValue
from keyfence_iam.policy.actions import LEADING_KEYS

_CONDITION_KEYS_BY_POSITION = tuple(
    f"dynamodb:{nth}PartitionKeyValues" for nth in ("First", "Second", "Third", "Fourth")
)
"""The condition keys for the first, second, third and fourth attribute of a partition key.

Only the partition key of an index can have more than one attribute.
"""

KeyComparison = tuple[str, object]
"""An attribute and the value that it must be equal to. The value is `...` if the comparison is not an equality."""


def leading_keys(values_by_attribute: Sequence[Iterable[str]]) -> dict[str, ContextValue]:
    """Returns the condition keys for the values of each partition key attribute.

    `dynamodb:LeadingKeys` has the values of the first attribute only.
    Raises UnsupportedRequest if an attribute has no value, or if there is no attribute or more than four of them.
    """
    values = [tuple(dict.fromkeys(attribute_values)) for attribute_values in values_by_attribute]
    if not 0 < len(values) <= len(_CONDITION_KEYS_BY_POSITION) or not all(values):
        raise UnsupportedRequest("the call has no partition key value")
    context: dict[str, ContextValue] = {LEADING_KEYS: values[0]}
    context.update(zip(_CONDITION_KEYS_BY_POSITION, values, strict=False))
    return context


def query_leading_keys(call: Parameters, partition_key: Sequence[str]) -> dict[str, ContextValue]:
    """Returns the condition keys of a Query, given the partition key attributes of its table or index.

    Raises UnsupportedRequest unless the Query compares every partition key attribute exactly once, by equality.
    """
    comparisons = list(
        _expression_comparisons(call) if call.get("KeyConditions") is None else _legacy_comparisons(call)
    )
    return leading_keys([[_equal_value(comparisons, attribute)] for attribute in partition_key])


def _equal_value(comparisons: list[KeyComparison], attribute: str) -> str:
    values = [value for name, value in comparisons if name == attribute]
    if len(values) != 1 or values[0] is ...:
        raise UnsupportedRequest(f"the key condition must compare {attribute} once, by equality")
    return key_string(values[0])


def _expression_comparisons(call: Parameters) -> Iterator[KeyComparison]:
    for conjunct in parse_condition(string(call, "KeyConditionExpression")).conjuncts:
        if not conjunct.is_key_comparison:
            raise UnsupportedRequest("a key condition must compare attributes with values")
        placeholder = conjunct.equality_placeholder
        value = ... if placeholder is None else _placeholder_value(placeholder, call)
        yield resolve_name(conjunct.attributes[0], call), value


def _placeholder_value(placeholder: str, call: Parameters) -> object:
    values = optional_mapping(call, "ExpressionAttributeValues")
    if placeholder not in values:
        raise UnsupportedRequest(f"{placeholder} is missing in ExpressionAttributeValues")
    return values[placeholder]


def _legacy_comparisons(call: Parameters) -> Iterator[KeyComparison]:
    for attribute, condition in mapping(call, "KeyConditions").items():
        yield attribute, _legacy_value(as_mapping(condition, "KeyConditions"))


def _legacy_value(condition: Parameters) -> object:
    if condition.get("ComparisonOperator") != "EQ":
        return ...
    values = array(condition, "AttributeValueList")
    return values[0] if len(values) == 1 else ...
