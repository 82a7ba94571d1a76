"""The condition operators that IAM knows, and how their names are put together."""

from dataclasses import dataclass
from typing import Literal

Family = Literal["text", "like", "folded", "number", "moment", "boolean", "binary", "address", "arn", "null"]
Relation = Literal["equal", "less", "at most", "more", "at least"]
Quantifier = Literal["", "ForAllValues", "ForAnyValue"]

IF_EXISTS = "IfExists"
WITH_VARIABLES = frozenset[Family]({"text", "like", "folded", "arn", "boolean"})
"""Documented for strings and ARNs on every page, for Bool on the page of the operators alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """`ForAllValues:StringNotLikeIfExists` taken apart."""

    family: Family
    negated: bool = False
    relation: Relation = "equal"
    quantifier: Quantifier = ""
    if_exists: bool = False

    @property
    def takes_variables(self) -> bool:
        return self.family in WITH_VARIABLES


@dataclass(frozen=True, slots=True)
class _Plain:
    family: Family
    negated: bool = False
    relation: Relation = "equal"


PLAIN = {
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


def find_operator(name: str) -> Operator | None:
    """The operator of this name; names are case-sensitive, and Null has no IfExists."""
    quantifier, plain_name = _quantified(name)
    if_exists = plain_name.endswith(IF_EXISTS)
    plain = PLAIN.get(plain_name.removesuffix(IF_EXISTS))
    if plain is None or quantifier is None or (if_exists and plain.family == "null"):
        return None
    return Operator(
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
