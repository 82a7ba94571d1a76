"""Compiled conditions: comparisons with their quantifiers, and `Null`."""

import operator as python_operators
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from keyfence_iam.evaluator.request import ConditionValues, ContextValue
from keyfence_iam.evaluator.undocumented_evaluation_rules import ABSENT_KEY_SATISFIES_FOR_ANY_VALUE_IF_EXISTS
from keyfence_iam.evaluator.wildcard_matching import (
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
from keyfence_iam.policy import Condition
from keyfence_iam.policy import condition_values as value_parsers
from keyfence_iam.policy.condition_operators import ConditionOperator, OperatorType, Relation, parse_operator
from keyfence_iam.policy.pattern import Pattern, PatternPart, Variable, parse_pattern

_RELATIONS: Mapping[Relation, Callable[[Any, Any], bool]] = {
    "==": python_operators.eq,
    "<": python_operators.lt,
    "<=": python_operators.le,
    ">": python_operators.gt,
    ">=": python_operators.ge,
}


@dataclass(frozen=True, slots=True)
class Comparison:
    """Compares the policy's values with the request's value of one key."""

    condition: Condition
    operator: ConditionOperator
    key: str
    values: tuple[CompiledValue, ...]

    def holds(self, context: ConditionValues) -> bool:
        value = context.get(self.key)
        return self._holds_without_value() if value is None else self._holds_for(value, self._matchers(context))

    def _holds_without_value(self) -> bool:
        if self.operator.quantifier == "ForAllValues":
            return True
        if self.operator.quantifier == "ForAnyValue":
            return self.operator.if_exists and ABSENT_KEY_SATISFIES_FOR_ANY_VALUE_IF_EXISTS
        return self.operator.if_exists or self.operator.negated

    def _holds_for(self, value: ContextValue, matchers: list[Matcher]) -> bool:
        """An operator without a quantifier matches no multivalued key. A quantifier treats one value as a list."""
        if not self.operator.quantifier:
            return isinstance(value, str) and self._matches(value, matchers)
        values = (value,) if isinstance(value, str) else value
        matches = (self._matches(one, matchers) for one in values)
        return all(matches) if self.operator.quantifier == "ForAllValues" else any(matches)

    def _matches(self, value: str, matchers: list[Matcher]) -> bool:
        return any(matches(value) for matches in matchers) != self.operator.negated

    def _matchers(self, context: ConditionValues) -> list[Matcher]:
        """Returns matchers of the policy's values. A value with a variable that has no value matches nothing."""
        return [matcher for value in self.values if (matcher := value(context)) is not None]


@dataclass(frozen=True, slots=True)
class NullCheck:
    """`Null`: compares whether the key is absent. A quantifier changes nothing."""

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
        return NullCheck(condition, key, frozenset(value_parsers.boolean(value) for value in condition.values))
    compile_value = _COMPILERS[operator.type]
    variables = replace_variables and operator.takes_variables
    return Comparison(
        condition, operator, key, tuple(compile_value(value, operator, variables) for value in condition.values)
    )


def _string(value: str, _: ConditionOperator, variables: bool) -> CompiledValue:
    pattern = parse_pattern(value, variables=variables, wildcards=False)
    return compile_pattern(pattern, lambda parts: pattern_text(parts).__eq__)


def _string_ignore_case(value: str, _: ConditionOperator, variables: bool) -> CompiledValue:
    return compile_pattern(parse_pattern(value, variables=variables, wildcards=False), _ignore_case_matcher)


def _ignore_case_matcher(parts: ResolvedPattern) -> Matcher:
    expected = pattern_text(parts).lower()
    return lambda actual: actual.lower() == expected


def _string_like(value: str, _: ConditionOperator, variables: bool) -> CompiledValue:
    return compile_pattern(parse_pattern(value, variables=variables), string_matcher)


def _arn(value: str, _: ConditionOperator, variables: bool) -> CompiledValue:
    segments = _arn_segments(parse_pattern(value, variables=variables))
    if not any(isinstance(part, Variable) for segment in segments for part in segment):
        matcher = arn_matcher([parts for segment in segments if (parts := substitute(segment, {})) is not None])
        return lambda _: matcher

    def resolve(values: ConditionValues) -> Matcher | None:
        resolved = [parts for segment in segments if (parts := substitute(segment, values)) is not None]
        return arn_matcher(resolved) if len(resolved) == len(segments) else None

    return resolve


def _arn_segments(pattern: Pattern) -> list[list[PatternPart]]:
    """Splits at the first five colons of the policy's own text. Colons in variables and their values do not count."""
    segments: list[list[PatternPart]] = [[]]
    for part in pattern:
        if not isinstance(part, str):
            segments[-1].append(part)
            continue
        first, *rest = part.split(":", ARN_SEGMENTS - len(segments))
        segments[-1].append(first)
        segments.extend([text] for text in rest)
    return segments


def _bool(value: str, _: ConditionOperator, variables: bool) -> CompiledValue:
    return compile_pattern(parse_pattern(value, variables=variables, wildcards=False), _bool_matcher)


def _bool_matcher(parts: ResolvedPattern) -> Matcher:
    expected = pattern_text(parts).lower()
    return lambda actual: ("true" if value_parsers.boolean(actual) else "false") == expected


def _ordered(parse: Callable[[str], Decimal]) -> Callable[[str, ConditionOperator, bool], CompiledValue]:
    def compile_value(value: str, operator: ConditionOperator, _: bool) -> CompiledValue:
        relation, expected = _RELATIONS[operator.relation], parse(value)
        return _without_variables(lambda actual: relation(parse(actual), expected))

    return compile_value


def _binary(value: str, _: ConditionOperator, __: bool) -> CompiledValue:
    expected = value_parsers.binary(value)
    return _without_variables(lambda actual: value_parsers.binary(actual) == expected)


def _ip_address(value: str, _: ConditionOperator, __: bool) -> CompiledValue:
    network = value_parsers.network(value)
    return _without_variables(lambda actual: value_parsers.address(actual) in network)


def _without_variables(matcher: Matcher) -> CompiledValue:
    return lambda _: matcher


_COMPILERS: Mapping[OperatorType, Callable[[str, ConditionOperator, bool], CompiledValue]] = {
    "string": _string,
    "string_ignore_case": _string_ignore_case,
    "string_like": _string_like,
    "arn": _arn,
    "bool": _bool,
    "numeric": _ordered(value_parsers.number),
    "date": _ordered(value_parsers.date),
    "binary": _binary,
    "ip_address": _ip_address,
}
