"""Parses condition operators such as `ForAllValues:StringLikeIfExists`, and the condition block of a statement."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, Literal

from keyfence_iam.policy import condition_values
from keyfence_iam.policy.document import Condition
from keyfence_iam.policy.json_reader import fail, items_with_path, json_type, mapping, printable, string
from keyfence_iam.policy.pattern import InvalidPattern, Variable, parse_pattern

OperatorType = Literal[
    "string", "string_like", "string_ignore_case", "numeric", "date", "bool", "binary", "ip_address", "arn", "null"
]
Relation = Literal["==", "<", "<=", ">", ">="]
Quantifier = Literal["", "ForAllValues", "ForAnyValue"]

IF_EXISTS = "IfExists"
TYPES_WITH_VARIABLES = frozenset[OperatorType]({"string", "string_like", "string_ignore_case", "arn", "bool"})
"""Types of operators whose values can have policy variables.

AWS says only on its page about operators that values of Bool can have variables. Its page about variables does not say
so.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionOperator:
    """A parsed operator, such as `ForAllValues:StringNotLikeIfExists`."""

    type: OperatorType
    is_negated: bool = False
    """Whether the name has `Not`."""
    relation: Relation = "=="
    quantifier: Quantifier = ""
    if_exists: bool = False

    @property
    def takes_variables(self) -> bool:
        return self.type in TYPES_WITH_VARIABLES


@dataclass(frozen=True, slots=True)
class _BaseOperator:
    """An operator without quantifier and IfExists."""

    type: OperatorType
    is_negated: bool = False
    relation: Relation = "=="


OPERATORS = {
    "StringEquals": _BaseOperator("string"),
    "StringNotEquals": _BaseOperator("string", is_negated=True),
    "StringEqualsIgnoreCase": _BaseOperator("string_ignore_case"),
    "StringNotEqualsIgnoreCase": _BaseOperator("string_ignore_case", is_negated=True),
    "StringLike": _BaseOperator("string_like"),
    "StringNotLike": _BaseOperator("string_like", is_negated=True),
    "NumericEquals": _BaseOperator("numeric"),
    "NumericNotEquals": _BaseOperator("numeric", is_negated=True),
    "NumericLessThan": _BaseOperator("numeric", relation="<"),
    "NumericLessThanEquals": _BaseOperator("numeric", relation="<="),
    "NumericGreaterThan": _BaseOperator("numeric", relation=">"),
    "NumericGreaterThanEquals": _BaseOperator("numeric", relation=">="),
    "DateEquals": _BaseOperator("date"),
    "DateNotEquals": _BaseOperator("date", is_negated=True),
    "DateLessThan": _BaseOperator("date", relation="<"),
    "DateLessThanEquals": _BaseOperator("date", relation="<="),
    "DateGreaterThan": _BaseOperator("date", relation=">"),
    "DateGreaterThanEquals": _BaseOperator("date", relation=">="),
    "Bool": _BaseOperator("bool"),
    "BinaryEquals": _BaseOperator("binary"),
    "IpAddress": _BaseOperator("ip_address"),
    "NotIpAddress": _BaseOperator("ip_address", is_negated=True),
    "ArnEquals": _BaseOperator("arn"),
    "ArnLike": _BaseOperator("arn"),
    "ArnNotEquals": _BaseOperator("arn", is_negated=True),
    "ArnNotLike": _BaseOperator("arn", is_negated=True),
    "Null": _BaseOperator("null"),
}


def parse_operator(name: str) -> ConditionOperator | None:
    """Returns the operator of this name, or None if IAM has no such operator. Names are case-sensitive."""
    quantifier, base_name = _split_quantifier(name)
    if_exists = base_name.endswith(IF_EXISTS)
    base = OPERATORS.get(base_name.removesuffix(IF_EXISTS))
    if base is None or quantifier is None or (if_exists and base.type == "null"):  # NullIfExists does not exist
        return None
    return ConditionOperator(
        type=base.type,
        is_negated=base.is_negated,
        relation=base.relation,
        quantifier=quantifier,
        if_exists=if_exists,
    )


def _split_quantifier(name: str) -> tuple[Quantifier | None, str]:
    """Returns the quantifier and the rest of the name.

    The quantifier is "" if the name has none. It is None if the name has a quantifier that does not exist in IAM.
    """
    quantifier, colon, rest = name.partition(":")
    if not colon:
        return "", name
    if quantifier == "ForAllValues":
        return "ForAllValues", rest
    return ("ForAnyValue" if quantifier == "ForAnyValue" else None), rest


_VALUE_PARSERS: Mapping[OperatorType, Callable[[str], object]] = {
    "numeric": condition_values.parse_number,
    "date": condition_values.parse_date,
    "bool": condition_values.parse_boolean,
    "binary": condition_values.parse_binary,
    "ip_address": condition_values.parse_network,
    "null": condition_values.parse_boolean,
}
"""Functions that parse a value of a policy, by type of operator. For strings and ARNs, every text is a value."""


def parse_condition_block(value: object, path: str, *, has_variables: bool) -> tuple[Condition, ...]:
    """Parses the JSON of a Condition element. Raises InvalidPolicy with the JSON path of the wrong part."""
    block = mapping(value, path)
    return tuple(
        condition
        for name, keys in block.items()
        for condition in _conditions(name, keys, f"{path}.{printable(name)}", has_variables=has_variables)
    )


def _conditions(name: str, value: object, path: str, *, has_variables: bool) -> list[Condition]:
    operator = parse_operator(name)
    if operator is None:
        fail(path, "unknown operator")
    keys = mapping(value, path)
    if len({key.lower() for key in keys}) < len(keys):
        fail(path, "a key occurs twice, in different case")
    return [_condition(name, operator, key, keys[key], path, has_variables=has_variables) for key in keys]


def _condition(
    name: str, operator: ConditionOperator, key: str, value: Any, path: str, *, has_variables: bool
) -> Condition:
    if not string(key, path).strip():
        fail(path, "a key is empty")
    values = items_with_path(value, f"{path}.{printable(key)}", allow_empty=True)
    texts = (_value(item, operator, item_path, has_variables=has_variables) for item, item_path in values)
    return Condition(name, key, tuple(texts))


def _value(item: object, operator: ConditionOperator, path: str, *, has_variables: bool) -> str:
    """Returns the value as a string. IAM also accepts numbers and booleans without quotation marks."""
    if item is None or isinstance(item, list | tuple | Mapping):
        fail(path, f"must be a string, a number or a boolean, not {json_type(item)}")
    text = string(value_text(item), path)
    try:
        _check_value(text, operator, has_variables=has_variables and operator.takes_variables)
    except (InvalidPattern, condition_values.InvalidValue) as error:
        fail(path, str(error))
    return text


def value_text(item: object) -> str:
    """Returns a JSON value as the text that IAM compares. A float without a fraction is written as an integer."""
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, float) and isfinite(item) and item.is_integer() and abs(item) < 1e15:
        return str(int(item))
    return str(item)


def _check_value(text: str, operator: ConditionOperator, *, has_variables: bool) -> None:
    parts = parse_pattern(text, has_variables=has_variables)
    parse = _VALUE_PARSERS.get(operator.type)
    if parse is not None and not any(isinstance(part, Variable) for part in parts):
        parse(text)
