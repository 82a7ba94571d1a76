"""The partition that a Query asks for, out of a key condition in either form."""

from collections.abc import Iterator, Sequence
from typing import Any

from keyfence_iam.evaluator.authorisation import Value
from keyfence_iam.evaluator.requests.expressions.condition import condition
from keyfence_iam.evaluator.requests.leading_keys import key_text, led_by
from keyfence_iam.evaluator.requests.mentioned import resolve
from keyfence_iam.evaluator.requests.refusal import NotUnderstood
from keyfence_iam.evaluator.requests.shape import Holder, as_mapping, listing, mapping, optional_mapping, text

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
