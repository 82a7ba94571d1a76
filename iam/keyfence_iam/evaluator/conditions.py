"""Compiled conditions: comparisons, quantifiers, `Null`."""

import operator as relations
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from keyfence_iam.evaluator.matching import (
    ARN_SEGMENTS,
    CompiledValue,
    Matcher,
    ResolvedPattern,
    arn_matcher,
    compile_pattern,
    pattern_text,
    string_matcher,
    substitute,
)
from keyfence_iam.evaluator.request import ConditionValues, ContextValue
from keyfence_iam.evaluator.undocumented_behavior import ABSENT_KEY_SATISFIES_FOR_ANY_VALUE_IF_EXISTS
from keyfence_iam.policy import Condition
from keyfence_iam.policy import values as scalar
from keyfence_iam.policy.operators import ConditionOperator, OperatorType, Relation, parse_operator
from keyfence_iam.policy.pattern import Pattern, PatternPart, Variable, parse_pattern
from keyfence_iam.policy.values import boolean

RELATIONS: Mapping[Relation, Callable[[Any, Any], bool]] = {
    "==": relations.eq,
    "<": relations.lt,
    "<=": relations.le,
    ">": relations.gt,
    ">=": relations.ge,
}


def compile_values(
    operator: ConditionOperator, values: tuple[str, ...], *, replace_variables: bool
) -> tuple[CompiledValue, ...]:
    make = _MAKERS[operator.type]
    return tuple(make(value, operator, replace_variables and operator.takes_variables) for value in values)


def _text(value: str, _: ConditionOperator, variables: bool) -> CompiledValue:
    return compile_pattern(
        parse_pattern(value, variables=variables, wildcards=False), lambda atoms: pattern_text(atoms).__eq__
    )


def _folded(value: str, _: ConditionOperator, variables: bool) -> CompiledValue:
    return compile_pattern(parse_pattern(value, variables=variables, wildcards=False), _ignoring_case)


def _ignoring_case(atoms: ResolvedPattern) -> Matcher:
    wanted = pattern_text(atoms).lower()
    return lambda found: found.lower() == wanted


def _like(value: str, _: ConditionOperator, variables: bool) -> CompiledValue:
    return compile_pattern(parse_pattern(value, variables=variables), string_matcher)


def _arn(value: str, _: ConditionOperator, variables: bool) -> CompiledValue:
    segments = _segments(parse_pattern(value, variables=variables))
    if not any(isinstance(atom, Variable) for segment in segments for atom in segment):
        ready = arn_matcher([made for segment in segments if (made := substitute(segment, {})) is not None])
        return lambda _: ready

    def in_context(context: ConditionValues) -> Matcher | None:
        made = [part for segment in segments if (part := substitute(segment, context)) is not None]
        return arn_matcher(made) if len(made) == len(segments) else None

    return in_context


def _segments(atoms: Pattern) -> list[list[PatternPart]]:
    """Split at the first five colons that stand in the policy's own text; one in a variable's name or value is none."""
    segments: list[list[PatternPart]] = [[]]
    for atom in atoms:
        if not isinstance(atom, str):
            segments[-1].append(atom)
            continue
        first, *rest = atom.split(":", ARN_SEGMENTS - len(segments))
        segments[-1].append(first)
        segments.extend([part] for part in rest)
    return segments


def _boolean(value: str, _: ConditionOperator, variables: bool) -> CompiledValue:
    return compile_pattern(parse_pattern(value, variables=variables, wildcards=False), _same_truth)


def _same_truth(atoms: ResolvedPattern) -> Matcher:
    wanted = pattern_text(atoms).lower()
    return lambda found: ("true" if scalar.boolean(found) else "false") == wanted


def _ordered(read: Callable[[str], Decimal]) -> Callable[[str, ConditionOperator, bool], CompiledValue]:
    def made(value: str, operator: ConditionOperator, _: bool) -> CompiledValue:
        relation, wanted = RELATIONS[operator.relation], read(value)
        return _always(lambda found: relation(read(found), wanted))

    return made


def _binary(value: str, _: ConditionOperator, __: bool) -> CompiledValue:
    wanted = scalar.binary(value)
    return _always(lambda found: scalar.binary(found) == wanted)


def _address(value: str, _: ConditionOperator, __: bool) -> CompiledValue:
    wanted = scalar.network(value)
    return _always(lambda found: scalar.address(found) in wanted)


def _always(matcher: Matcher) -> CompiledValue:
    return lambda _: matcher


_MAKERS: Mapping[OperatorType, Callable[[str, ConditionOperator, bool], CompiledValue]] = {
    "string": _text,
    "string_ignore_case": _folded,
    "string_like": _like,
    "arn": _arn,
    "bool": _boolean,
    "numeric": _ordered(scalar.number),
    "date": _ordered(scalar.date),
    "binary": _binary,
    "ip_address": _address,
}


@dataclass(frozen=True, slots=True)
class Comparison:
    """Values of one key against one key of the request."""

    condition: Condition
    operator: ConditionOperator
    key: str
    values: tuple[CompiledValue, ...]

    def holds(self, context: ConditionValues) -> bool:
        value = context.get(self.key)
        return self._without_value() if value is None else self._with_value(value, self._matchers(context))

    def _without_value(self) -> bool:
        if self.operator.quantifier == "ForAllValues":
            return True
        if self.operator.quantifier == "ForAnyValue":
            return self.operator.if_exists and ABSENT_KEY_SATISFIES_FOR_ANY_VALUE_IF_EXISTS
        return self.operator.if_exists or self.operator.negated

    def _with_value(self, value: ContextValue, matchers: list[Matcher]) -> bool:
        """A bare operator matches no key of ArrayOf type; a quantifier takes a single value for a list of one."""
        if not self.operator.quantifier:
            return isinstance(value, str) and self._one(value, matchers)
        values = (value,) if isinstance(value, str) else value
        every = self.operator.quantifier == "ForAllValues"
        verdicts = (self._one(one, matchers) for one in values)
        return all(verdicts) if every else any(verdicts)

    def _one(self, value: str, matchers: list[Matcher]) -> bool:
        return any(matches(value) for matches in matchers) != self.operator.negated

    def _matchers(self, context: ConditionValues) -> list[Matcher]:
        """Of the policy's values, those whose variables all have a value: the others match nothing."""
        return [matcher for comparand in self.values if (matcher := comparand(context)) is not None]


@dataclass(frozen=True, slots=True)
class NullCheck:
    """Null: whether the key is absent, as wanted. A quantifier before it changes nothing."""

    condition: Condition
    key: str
    accepted_absence: frozenset[bool]

    def holds(self, context: ConditionValues) -> bool:
        return (self.key not in context) in self.accepted_absence


CompiledCondition = Comparison | NullCheck


def compile_condition(condition: Condition, *, replace_variables: bool) -> CompiledCondition:
    operator = parse_operator(condition.operator)
    if operator is None:
        raise ValueError(f"{condition.operator!r} is not an operator")
    key = condition.key.lower()
    if operator.type == "null":
        return NullCheck(condition, key, frozenset(boolean(value) for value in condition.values))
    return Comparison(
        condition, operator, key, compile_values(operator, condition.values, replace_variables=replace_variables)
    )
