"""Compiled conditions: comparisons, quantifiers, `Null`."""

import operator as relations
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from keyfence_iam.evaluator.assumptions import ABSENT_KEY_SATISFIES_FOR_ANY_VALUE_IF_EXISTS
from keyfence_iam.evaluator.matching import (
    ARN_SEGMENTS,
    Comparand,
    Filled,
    Matcher,
    comparand,
    filled,
    like,
    like_arn,
    written,
)
from keyfence_iam.evaluator.request import Context, Value
from keyfence_iam.policy import Condition
from keyfence_iam.policy import values as scalar
from keyfence_iam.policy.operators import Family, Operator, Relation, find_operator
from keyfence_iam.policy.pattern import Atom, Template, Variable, template
from keyfence_iam.policy.values import boolean

RELATIONS: Mapping[Relation, Callable[[Any, Any], bool]] = {
    "equal": relations.eq,
    "less": relations.lt,
    "at most": relations.le,
    "more": relations.gt,
    "at least": relations.ge,
}


def comparands(operator: Operator, values: tuple[str, ...], *, variables: bool) -> tuple[Comparand, ...]:
    make = _MAKERS[operator.family]
    return tuple(make(value, operator, variables and operator.takes_variables) for value in values)


def _text(value: str, _: Operator, variables: bool) -> Comparand:
    return comparand(template(value, variables=variables, wildcards=False), lambda atoms: written(atoms).__eq__)


def _folded(value: str, _: Operator, variables: bool) -> Comparand:
    return comparand(template(value, variables=variables, wildcards=False), _ignoring_case)


def _ignoring_case(atoms: Filled) -> Matcher:
    wanted = written(atoms).lower()
    return lambda found: found.lower() == wanted


def _like(value: str, _: Operator, variables: bool) -> Comparand:
    return comparand(template(value, variables=variables), like)


def _arn(value: str, _: Operator, variables: bool) -> Comparand:
    segments = _segments(template(value, variables=variables))
    if not any(isinstance(atom, Variable) for segment in segments for atom in segment):
        ready = like_arn([made for segment in segments if (made := filled(segment, {})) is not None])
        return lambda _: ready

    def in_context(context: Context) -> Matcher | None:
        made = [part for segment in segments if (part := filled(segment, context)) is not None]
        return like_arn(made) if len(made) == len(segments) else None

    return in_context


def _segments(atoms: Template) -> list[list[Atom]]:
    """Split at the first five colons that stand in the policy's own text; one in a variable's name or value is none."""
    segments: list[list[Atom]] = [[]]
    for atom in atoms:
        if not isinstance(atom, str):
            segments[-1].append(atom)
            continue
        first, *rest = atom.split(":", ARN_SEGMENTS - len(segments))
        segments[-1].append(first)
        segments.extend([part] for part in rest)
    return segments


def _boolean(value: str, _: Operator, variables: bool) -> Comparand:
    return comparand(template(value, variables=variables, wildcards=False), _same_truth)


def _same_truth(atoms: Filled) -> Matcher:
    wanted = written(atoms).lower()
    return lambda found: ("true" if scalar.boolean(found) else "false") == wanted


def _ordered(read: Callable[[str], Decimal]) -> Callable[[str, Operator, bool], Comparand]:
    def made(value: str, operator: Operator, _: bool) -> Comparand:
        relation, wanted = RELATIONS[operator.relation], read(value)
        return _always(lambda found: relation(read(found), wanted))

    return made


def _binary(value: str, _: Operator, __: bool) -> Comparand:
    wanted = scalar.binary(value)
    return _always(lambda found: scalar.binary(found) == wanted)


def _address(value: str, _: Operator, __: bool) -> Comparand:
    wanted = scalar.network(value)
    return _always(lambda found: scalar.address(found) in wanted)


def _always(matcher: Matcher) -> Comparand:
    return lambda _: matcher


_MAKERS: Mapping[Family, Callable[[str, Operator, bool], Comparand]] = {
    "text": _text,
    "folded": _folded,
    "like": _like,
    "arn": _arn,
    "boolean": _boolean,
    "number": _ordered(scalar.number),
    "moment": _ordered(scalar.moment),
    "binary": _binary,
    "address": _address,
}


@dataclass(frozen=True, slots=True)
class Comparison:
    """Values of one key against one key of the request."""

    condition: Condition
    operator: Operator
    key: str
    comparands: tuple[Comparand, ...]

    def holds(self, context: Context) -> bool:
        value = context.get(self.key)
        return self._without_value() if value is None else self._with_value(value, self._matchers(context))

    def _without_value(self) -> bool:
        if self.operator.quantifier == "ForAllValues":
            return True
        if self.operator.quantifier == "ForAnyValue":
            return self.operator.if_exists and ABSENT_KEY_SATISFIES_FOR_ANY_VALUE_IF_EXISTS
        return self.operator.if_exists or self.operator.negated

    def _with_value(self, value: Value, matchers: list[Matcher]) -> bool:
        """A bare operator matches no key of ArrayOf type; a quantifier takes a single value for a list of one."""
        if not self.operator.quantifier:
            return isinstance(value, str) and self._one(value, matchers)
        values = (value,) if isinstance(value, str) else value
        every = self.operator.quantifier == "ForAllValues"
        verdicts = (self._one(one, matchers) for one in values)
        return all(verdicts) if every else any(verdicts)

    def _one(self, value: str, matchers: list[Matcher]) -> bool:
        return any(matches(value) for matches in matchers) != self.operator.negated

    def _matchers(self, context: Context) -> list[Matcher]:
        """Of the policy's values, those whose variables all have a value: the others match nothing."""
        return [matcher for comparand in self.comparands if (matcher := comparand(context)) is not None]


@dataclass(frozen=True, slots=True)
class Presence:
    """Null: whether the key is absent, as wanted. A quantifier before it changes nothing."""

    condition: Condition
    key: str
    absent: frozenset[bool]

    def holds(self, context: Context) -> bool:
        return (self.key not in context) in self.absent


Clause = Comparison | Presence


def clause(condition: Condition, *, variables: bool) -> Clause:
    operator = find_operator(condition.operator)
    if operator is None:
        raise ValueError(f"{condition.operator!r} is not an operator")
    key = condition.key.lower()
    if operator.family == "null":
        return Presence(condition, key, frozenset(boolean(value) for value in condition.values))
    return Comparison(condition, operator, key, comparands(operator, condition.values, variables=variables))
