"""The condition key `dynamodb:LeadingKeys`, from the keys of items and from key conditions."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from keyfence_iam.dynamodb.attributes import resolve
from keyfence_iam.dynamodb.expressions.expression_parser import parse_condition
from keyfence_iam.dynamodb.parameters import (
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

_PARTITION_KEYS = tuple(f"dynamodb:{nth}PartitionKeyValues" for nth in ("First", "Second", "Third", "Fourth"))

Equality = tuple[str, object]
"""An attribute and the value that it must be equal to, or `...` if it is compared in another way."""


def leading_keys(parts: Sequence[Iterable[str]]) -> dict[str, ContextValue]:
    """Return the condition keys for the values of each partition key attribute. Only the first is in LeadingKeys."""
    values = [tuple(dict.fromkeys(part)) for part in parts]
    if not 0 < len(values) <= len(_PARTITION_KEYS) or not all(values):
        raise UnsupportedRequest("the call has no partition key value")
    context: dict[str, ContextValue] = {LEADING_KEYS: values[0]}
    context.update(zip(_PARTITION_KEYS, values, strict=False))
    return context


def query_partition(call: Parameters, partition_key: Sequence[str]) -> dict[str, ContextValue]:
    """Return the condition keys of a Query.

    Raises UnsupportedRequest unless it compares every partition key attribute exactly once, by equality.
    """
    compared = list(_key_condition(call) if call.get("KeyConditions") is None else _legacy_conditions(call))
    return leading_keys([[_equal_value(compared, attribute)] for attribute in partition_key])


def _equal_value(compared: list[Equality], attribute: str) -> str:
    values = [value for name, value in compared if name == attribute]
    if len(values) != 1 or values[0] is ...:
        raise UnsupportedRequest(f"the key condition must compare {attribute} once, by equality")
    return key_string(values[0])


def _key_condition(call: Parameters) -> Iterator[Equality]:
    for conjunct in parse_condition(string(call, "KeyConditionExpression")).conjuncts:
        if not conjunct.is_key_comparison:
            raise UnsupportedRequest("a key condition must compare attributes with values")
        value = ... if conjunct.equal_to is None else _placeholder_value(conjunct.equal_to, call)
        yield resolve(conjunct.attributes[0], call), value


def _placeholder_value(placeholder: str, call: Parameters) -> object:
    values = optional_mapping(call, "ExpressionAttributeValues")
    if placeholder not in values:
        raise UnsupportedRequest(f"{placeholder} is missing in ExpressionAttributeValues")
    return values[placeholder]


def _legacy_conditions(call: Parameters) -> Iterator[Equality]:
    for attribute, condition in mapping(call, "KeyConditions").items():
        yield attribute, _legacy_value(as_mapping(condition, "KeyConditions"))


def _legacy_value(condition: Parameters) -> Any:
    if condition.get("ComparisonOperator") != "EQ":
        return ...
    values = array(condition, "AttributeValueList")
    return values[0] if len(values) == 1 else ...
