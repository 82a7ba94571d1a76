"""`dynamodb:LeadingKeys` out of keys and key conditions."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from keyfence_iam.dynamodb.attributes import resolve
from keyfence_iam.dynamodb.expressions.expression import condition
from keyfence_iam.dynamodb.parameters import (
    Holder,
    NotUnderstood,
    as_mapping,
    key_text,
    listing,
    mapping,
    optional_mapping,
    text,
)
from keyfence_iam.evaluator.request import Value

LEADING_KEYS = "dynamodb:LeadingKeys"
_PARTS = tuple(f"dynamodb:{nth}PartitionKeyValues" for nth in ("First", "Second", "Third", "Fourth"))


def led_by(parts: Sequence[Iterable[str]]) -> dict[str, Value]:
    """The condition keys for the values of each partition key attribute, the first of which leads."""
    values = [tuple(dict.fromkeys(part)) for part in parts]
    if not 0 < len(values) <= len(_PARTS) or not all(values):
        raise NotUnderstood("no partition key value")
    named: dict[str, Value] = {LEADING_KEYS: values[0]}
    named.update(zip(_PARTS, values, strict=False))
    return named


Equality = tuple[str, object]
"""An attribute and what it is equal to; `...` where it is compared in another way."""


def partition_asked(call: Holder, partition: Sequence[str]) -> dict[str, Value]:
    """Every partition key attribute has to be compared exactly once, and by equality."""
    compared = list(_expressed(call) if call.get("KeyConditions") is None else _legacy(call))
    return led_by([[_only(compared, attribute)] for attribute in partition])


def _only(compared: list[Equality], attribute: str) -> str:
    values = [value for name, value in compared if name == attribute]
    if len(values) != 1 or values[0] is ...:
        raise NotUnderstood(f"{attribute} is not compared once and by equality")
    return key_text(values[0])


def _expressed(call: Holder) -> Iterator[Equality]:
    for term in condition(text(call, "KeyConditionExpression")).terms:
        if not term.compares:
            raise NotUnderstood("a key condition compares attributes with values")
        yield resolve(term.roots[0], call), ... if term.equals is None else _given(term.equals, call)


def _given(placeholder: str, call: Holder) -> object:
    values = optional_mapping(call, "ExpressionAttributeValues")
    if placeholder not in values:
        raise NotUnderstood(f"{placeholder} is not among the attribute values")
    return values[placeholder]


def _legacy(call: Holder) -> Iterator[Equality]:
    for attribute, compared in mapping(call, "KeyConditions").items():
        yield attribute, _legacy_value(as_mapping(compared, "KeyConditions"))


def _legacy_value(compared: Holder) -> Any:
    if compared.get("ComparisonOperator") != "EQ":
        return ...
    values = listing(compared, "AttributeValueList")
    return values[0] if len(values) == 1 else ...
