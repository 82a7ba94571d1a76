"""`dynamodb:LeadingKeys` out of keys and key conditions."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from keyfence_iam.dynamodb.attributes import resolve
from keyfence_iam.dynamodb.expressions.expression import parse_condition
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

LEADING_KEYS = "dynamodb:LeadingKeys"
_PARTS = tuple(f"dynamodb:{nth}PartitionKeyValues" for nth in ("First", "Second", "Third", "Fourth"))


def leading_keys(parts: Sequence[Iterable[str]]) -> dict[str, ContextValue]:
    """The condition keys for the values of each partition key attribute, the first of which leads."""
    values = [tuple(dict.fromkeys(part)) for part in parts]
    if not 0 < len(values) <= len(_PARTS) or not all(values):
        raise UnsupportedRequest("no partition key value")
    named: dict[str, ContextValue] = {LEADING_KEYS: values[0]}
    named.update(zip(_PARTS, values, strict=False))
    return named


Equality = tuple[str, object]
"""An attribute and what it is equal to; `...` where it is compared in another way."""


def query_partition(call: Parameters, partition: Sequence[str]) -> dict[str, ContextValue]:
    """Every partition key attribute has to be compared exactly once, and by equality."""
    compared = list(_expressed(call) if call.get("KeyConditions") is None else _legacy(call))
    return leading_keys([[_only(compared, attribute)] for attribute in partition])


def _only(compared: list[Equality], attribute: str) -> str:
    values = [value for name, value in compared if name == attribute]
    if len(values) != 1 or values[0] is ...:
        raise UnsupportedRequest(f"{attribute} is not compared once and by equality")
    return key_string(values[0])


def _expressed(call: Parameters) -> Iterator[Equality]:
    for term in parse_condition(string(call, "KeyConditionExpression")).conjuncts:
        if not term.is_key_comparison:
            raise UnsupportedRequest("a key condition compares attributes with values")
        yield resolve(term.attributes[0], call), ... if term.equal_to is None else _given(term.equal_to, call)


def _given(placeholder: str, call: Parameters) -> object:
    values = optional_mapping(call, "ExpressionAttributeValues")
    if placeholder not in values:
        raise UnsupportedRequest(f"{placeholder} is not among the attribute values")
    return values[placeholder]


def _legacy(call: Parameters) -> Iterator[Equality]:
    for attribute, compared in mapping(call, "KeyConditions").items():
        yield attribute, _legacy_value(as_mapping(compared, "KeyConditions"))


def _legacy_value(compared: Parameters) -> Any:
    if compared.get("ComparisonOperator") != "EQ":
        return ...
    values = array(compared, "AttributeValueList")
    return values[0] if len(values) == 1 else ...
