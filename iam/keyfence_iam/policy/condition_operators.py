"""Condition operators with their quantifiers and `IfExists`, and the parser of condition blocks."""

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
"""Types whose values may have policy variables. AWS documents Bool only on the page of the operators."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionOperator:
    """A parsed operator, such as `ForAllValues:StringNotLikeIfExists`."""

    type: OperatorType
    negated: bool = False
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
    negated: bool = False
    relation: Relation = "=="


OPERATORS = {
    "StringEquals": _BaseOperator("string"),
    "StringNotEquals": _BaseOperator("string", negated=True),
    "StringEqualsIgnoreCase": _BaseOperator("string_ignore_case"),
    "StringNotEqualsIgnoreCase": _BaseOperator("string_ignore_case", negated=True),
    "StringLike": _BaseOperator("string_like"),
    "StringNotLike": _BaseOperator("string_like", negated=True),
    "NumericEquals": _BaseOperator("numeric"),
    "NumericNotEquals": _BaseOperator("numeric", negated=True),
    "NumericLessThan": _BaseOperator("numeric", relation="<"),
    "NumericLessThanEquals": _BaseOperator("numeric", relation="<="),
    "NumericGreaterThan": _BaseOperator("numeric", relation=">"),
    "NumericGreaterThanEquals": _BaseOperator("numeric", relation=">="),
    "DateEquals": _BaseOperator("date"),
    "DateNotEquals": _BaseOperator("date", negated=True),
    "DateLessThan": _BaseOperator("date", relation="<"),
    "DateLessThanEquals": _BaseOperator("date", relation="<="),
    "DateGreaterThan": _BaseOperator("date", relation=">"),
    "DateGreaterThanEquals": _BaseOperator("date", relation=">="),
    "Bool": _BaseOperator("bool"),
    "BinaryEquals": _BaseOperator("binary"),
    "IpAddress": _BaseOperator("ip_address"),
    "NotIpAddress": _BaseOperator("ip_address", negated=True),
    "ArnEquals": _BaseOperator("arn"),
    "ArnLike": _BaseOperator("arn"),
    "ArnNotEquals": _BaseOperator("arn", negated=True),
    "ArnNotLike": _BaseOperator("arn", negated=True),
    "Null": _BaseOperator("null"),
}


def parse_operator(name: str) -> ConditionOperator | None:
    """Returns the operator of this name, or None. Names are case-sensitive, and Null has no IfExists."""
    quantifier, base_name = _split_quantifier(name)
    if_exists = base_name.endswith(IF_EXISTS)
    base = OPERATORS.get(base_name.removesuffix(IF_EXISTS))
    if base is None or quantifier is None or (if_exists and base.type == "null"):
        return None
    return ConditionOperator(
        type=base.type,
        negated=base.negated,
        relation=base.relation,
        quantifier=quantifier,
        if_exists=if_exists,
    )


def _split_quantifier(name: str) -> tuple[Quantifier | None, str]:
    head, colon, rest = name.partition(":")
    if not colon:
        return "", name
    if head == "ForAllValues":
        return "ForAllValues", rest
    return ("ForAnyValue" if head == "ForAnyValue" else None), rest


VALUE_PARSERS: Mapping[OperatorType, Callable[[str], object]] = {
    "numeric": condition_values.number,
    "date": condition_values.date,
    "bool": condition_values.boolean,
    "binary": condition_values.binary,
    "ip_address": condition_values.network,
    "null": condition_values.boolean,
}
"""Parsers of a policy's values, by the type of the operator. Strings and ARNs need none."""


def parse_condition_block(value: object, path: str, *, variables: bool) -> tuple[Condition, ...]:
    block = mapping(value, path)
    return tuple(
        condition
        for name, keys in block.items()
        for condition in _conditions(name, keys, f"{path}.{printable(name)}", variables=variables)
    )


def _conditions(name: str, value: object, path: str, *, variables: bool) -> list[Condition]:
    operator = parse_operator(name)
    if operator is None:
        fail(path, "unknown operator")
    keys = mapping(value, path)
    if len({key.lower() for key in keys}) < len(keys):
        fail(path, "a key occurs twice, in different case")
    return [_condition(name, operator, key, keys[key], path, variables=variables) for key in keys]


def _condition(
    name: str, operator: ConditionOperator, key: str, value: Any, path: str, *, variables: bool
) -> Condition:
    if not string(key, path).strip():
        fail(path, "a key is empty")
    values = items_with_path(value, f"{path}.{printable(key)}", allow_empty=True)
    return Condition(name, key, tuple(_value(item, operator, at, variables=variables) for item, at in values))


def _value(item: object, operator: ConditionOperator, path: str, *, variables: bool) -> str:
    """Returns the value as a string. IAM accepts numbers and booleans without quotation marks too."""
    if item is None or isinstance(item, list | tuple | Mapping):
        fail(path, f"must be a string, a number or a boolean, not {json_type(item)}")
    text = string(value_text(item), path)
    try:
        _check(text, operator, variables=variables and operator.takes_variables)
    except (InvalidPattern, condition_values.InvalidValue) as error:
        fail(path, str(error))
    return text


def value_text(item: object) -> str:
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, float) and isfinite(item) and item.is_integer() and abs(item) < 1e15:
        return str(int(item))
    return str(item)


def _check(text: str, operator: ConditionOperator, *, variables: bool) -> None:
    parts = parse_pattern(text, variables=variables)
    parse = VALUE_PARSERS.get(operator.type)
    if parse is not None and not any(isinstance(part, Variable) for part in parts):
        parse(text)
