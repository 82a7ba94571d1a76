"""Condition operators, quantifiers, `IfExists`; the condition block."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, Literal

from keyfence_iam.policy import values as scalar
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
"""Documented for strings and ARNs on every page, for Bool on the page of the operators alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionOperator:
    """`ForAllValues:StringNotLikeIfExists` taken apart."""

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
    """The operator of this name; names are case-sensitive, and Null has no IfExists."""
    quantifier, plain_name = _quantified(name)
    if_exists = plain_name.endswith(IF_EXISTS)
    plain = OPERATORS.get(plain_name.removesuffix(IF_EXISTS))
    if plain is None or quantifier is None or (if_exists and plain.type == "null"):
        return None
    return ConditionOperator(
        type=plain.type,
        negated=plain.negated,
        relation=plain.relation,
        quantifier=quantifier,
        if_exists=if_exists,
    )


def _quantified(name: str) -> tuple[Quantifier | None, str]:
    head, colon, rest = name.partition(":")
    if not colon:
        return "", name
    if head == "ForAllValues":
        return "ForAllValues", rest
    return ("ForAnyValue" if head == "ForAnyValue" else None), rest


VALUE_PARSERS: Mapping[OperatorType, Callable[[str], object]] = {
    "numeric": scalar.number,
    "date": scalar.date,
    "bool": scalar.boolean,
    "binary": scalar.binary,
    "ip_address": scalar.network,
    "null": scalar.boolean,
}
"""How a policy's value is read, by the family of the operator; texts and ARNs need no reading."""


def parse_condition_block(value: object, where: str, *, variables: bool) -> tuple[Condition, ...]:
    block = mapping(value, where)
    return tuple(
        condition
        for name, keys in block.items()
        for condition in _conditions(name, keys, f"{where}.{printable(name)}", variables=variables)
    )


def _conditions(name: str, value: object, where: str, *, variables: bool) -> list[Condition]:
    operator = parse_operator(name)
    if operator is None:
        fail(where, "unknown operator")
    keys = mapping(value, where)
    if len({key.lower() for key in keys}) < len(keys):
        fail(where, "a key occurs twice, in different case")
    return [_condition(name, operator, key, keys[key], where, variables=variables) for key in keys]


def _condition(
    name: str, operator: ConditionOperator, key: str, value: Any, where: str, *, variables: bool
) -> Condition:
    if not string(key, where).strip():
        fail(where, "a key is empty")
    values = items_with_path(value, f"{where}.{printable(key)}", allow_empty=True)
    return Condition(name, key, tuple(_value(item, operator, place, variables=variables) for item, place in values))


def _value(item: object, operator: ConditionOperator, where: str, *, variables: bool) -> str:
    """The value as text: IAM takes numbers and truth values without their quotation marks too."""
    if item is None or isinstance(item, list | tuple | Mapping):
        fail(where, f"a text, a number or a truth value is wanted, not {json_type(item)}")
    written = string(value_text(item), where)
    try:
        _check(written, operator, variables=variables and operator.takes_variables)
    except (InvalidPattern, scalar.InvalidValue) as error:
        fail(where, str(error))
    return written


def value_text(item: object) -> str:
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, float) and isfinite(item) and item.is_integer() and abs(item) < 1e15:
        return str(int(item))
    return str(item)


def _check(written: str, operator: ConditionOperator, *, variables: bool) -> None:
    atoms = parse_pattern(written, variables=variables)
    read = VALUE_PARSERS.get(operator.type)
    if read is not None and not any(isinstance(atom, Variable) for atom in atoms):
        read(written)
