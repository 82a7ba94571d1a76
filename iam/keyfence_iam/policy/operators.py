"""Condition operators, quantifiers, `IfExists`; the condition block."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, Literal

from keyfence_iam.policy import values as scalar
from keyfence_iam.policy.document import Condition
from keyfence_iam.policy.json_reader import fail, items_with_path, json_type, mapping, printable, string
from keyfence_iam.policy.pattern import InvalidPattern, Variable, parse_pattern

OperatorType = Literal["text", "like", "folded", "number", "moment", "boolean", "binary", "address", "arn", "null"]
Relation = Literal["equal", "less", "at most", "more", "at least"]
Quantifier = Literal["", "ForAllValues", "ForAnyValue"]

IF_EXISTS = "IfExists"
WITH_VARIABLES = frozenset[OperatorType]({"text", "like", "folded", "arn", "boolean"})
"""Documented for strings and ARNs on every page, for Bool on the page of the operators alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionOperator:
    """`ForAllValues:StringNotLikeIfExists` taken apart."""

    family: OperatorType
    negated: bool = False
    relation: Relation = "equal"
    quantifier: Quantifier = ""
    if_exists: bool = False

    @property
    def takes_variables(self) -> bool:
        return self.family in WITH_VARIABLES


@dataclass(frozen=True, slots=True)
class _Plain:
    family: OperatorType
    negated: bool = False
    relation: Relation = "equal"


OPERATORS = {
    "StringEquals": _Plain("text"),
    "StringNotEquals": _Plain("text", negated=True),
    "StringEqualsIgnoreCase": _Plain("folded"),
    "StringNotEqualsIgnoreCase": _Plain("folded", negated=True),
    "StringLike": _Plain("like"),
    "StringNotLike": _Plain("like", negated=True),
    "NumericEquals": _Plain("number"),
    "NumericNotEquals": _Plain("number", negated=True),
    "NumericLessThan": _Plain("number", relation="less"),
    "NumericLessThanEquals": _Plain("number", relation="at most"),
    "NumericGreaterThan": _Plain("number", relation="more"),
    "NumericGreaterThanEquals": _Plain("number", relation="at least"),
    "DateEquals": _Plain("moment"),
    "DateNotEquals": _Plain("moment", negated=True),
    "DateLessThan": _Plain("moment", relation="less"),
    "DateLessThanEquals": _Plain("moment", relation="at most"),
    "DateGreaterThan": _Plain("moment", relation="more"),
    "DateGreaterThanEquals": _Plain("moment", relation="at least"),
    "Bool": _Plain("boolean"),
    "BinaryEquals": _Plain("binary"),
    "IpAddress": _Plain("address"),
    "NotIpAddress": _Plain("address", negated=True),
    "ArnEquals": _Plain("arn"),
    "ArnLike": _Plain("arn"),
    "ArnNotEquals": _Plain("arn", negated=True),
    "ArnNotLike": _Plain("arn", negated=True),
    "Null": _Plain("null"),
}


def parse_operator(name: str) -> ConditionOperator | None:
    """The operator of this name; names are case-sensitive, and Null has no IfExists."""
    quantifier, plain_name = _quantified(name)
    if_exists = plain_name.endswith(IF_EXISTS)
    plain = OPERATORS.get(plain_name.removesuffix(IF_EXISTS))
    if plain is None or quantifier is None or (if_exists and plain.family == "null"):
        return None
    return ConditionOperator(
        family=plain.family,
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
    "number": scalar.number,
    "moment": scalar.date,
    "boolean": scalar.boolean,
    "binary": scalar.binary,
    "address": scalar.network,
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
    values = items_with_path(value, f"{where}.{printable(key)}", empty=True)
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
    read = VALUE_PARSERS.get(operator.family)
    if read is not None and not any(isinstance(atom, Variable) for atom in atoms):
        read(written)
