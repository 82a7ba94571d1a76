"""Evaluates the conditions of a statement, also with `ForAllValues`, `ForAnyValue` and `IfExists`."""

import operator as python_operators
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from keyfence_iam.evaluator.request import ContextValue, LowercaseContext
from keyfence_iam.evaluator.undocumented_evaluation_rules import ABSENT_KEY_SATISFIES_FOR_ANY_VALUE_IF_EXISTS
from keyfence_iam.evaluator.wildcard_matching import (
    ARN_SEGMENT_COUNT,
    CompiledValue,
    Matcher,
    ResolvedPattern,
    arn_matcher,
    compile_pattern,
    pattern_text,
    string_matcher,
    substitute,
)
from keyfence_iam.policy import Condition, condition_values
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
    """A condition that compares the policy's values with the request's value of one key."""

    condition: Condition
    operator: ConditionOperator
    key: str
    values: tuple[CompiledValue, ...]

    def holds(self, context: LowercaseContext) -> bool:
        value = context.get(self.key)
        return self._holds_for_absent_key() if value is None else self._holds_for(value, self._matchers(context))

    def _holds_for_absent_key(self) -> bool:
        if self.operator.quantifier == "ForAllValues":
            return True
        if self.operator.quantifier == "ForAnyValue":
            return self.operator.if_exists and ABSENT_KEY_SATISFIES_FOR_ANY_VALUE_IF_EXISTS
        return self.operator.if_exists or self.operator.is_negated

    def _holds_for(self, value: ContextValue, matchers: list[Matcher]) -> bool:
        """Returns whether the request's value satisfies the condition.

        Without a quantifier, the value of a multivalued key never satisfies it. With a quantifier, a single value
        counts as a list of one value.
        """
        if not self.operator.quantifier:
            return isinstance(value, str) and self._matches(value, matchers)
        values = (value,) if isinstance(value, str) else value
        matches = (self._matches(single_value, matchers) for single_value in values)
        return all(matches) if self.operator.quantifier == "ForAllValues" else any(matches)

    def _matches(self, value: str, matchers: list[Matcher]) -> bool:
        """Returns whether one of the policy's values matches or, for a negated operator, whether none does."""
        return any(matches(value) for matches in matchers) != self.operator.is_negated

    def _matchers(self, context: LowercaseContext) -> list[Matcher]:
        """Returns the matchers of the policy's values.

        A policy value is left out if it has a variable for which the request has no value.
        """
        return [matcher for value in self.values if (matcher := value(context)) is not None]


@dataclass(frozen=True, slots=True)
class NullCheck:
    """The operator `Null`: "true" holds if the key is absent, "false" if it is present. A quantifier has no effect."""

    condition: Condition
    key: str
    accepted_absence: frozenset[bool]
    """The policy's values: True accepts an absent key, False accepts a key that is present."""

    def holds(self, context: LowercaseContext) -> bool:
        return (self.key not in context) in self.accepted_absence


CompiledCondition = Comparison | NullCheck


def compile_condition(condition: Condition, *, replace_variables: bool) -> CompiledCondition:
    """Parses the operator and the values of a condition once, so that `holds` is fast for each request.

    Raises ValueError if IAM would not accept the operator or a value.
    """
    operator = parse_operator(condition.operator)
    if operator is None:
        raise ValueError(f"{condition.operator!r} is not an operator")
    key = condition.key.lower()
    if operator.type == "null":
        return NullCheck(condition, key, frozenset(condition_values.parse_boolean(value) for value in condition.values))
    compile_value = _VALUE_COMPILERS[operator.type]
    has_variables = replace_variables and operator.takes_variables
    values = tuple(compile_value(value, operator, has_variables) for value in condition.values)
    return Comparison(condition, operator, key, values)


def _compile_string(value: str, _: ConditionOperator, has_variables: bool) -> CompiledValue:
    pattern = parse_pattern(value, has_variables=has_variables, has_wildcards=False)
    return compile_pattern(pattern, lambda parts: pattern_text(parts).__eq__)


def _compile_string_ignore_case(value: str, _: ConditionOperator, has_variables: bool) -> CompiledValue:
    return compile_pattern(parse_pattern(value, has_variables=has_variables, has_wildcards=False), _ignore_case_matcher)


def _ignore_case_matcher(parts: ResolvedPattern) -> Matcher:
    expected = pattern_text(parts).lower()
    return lambda actual: actual.lower() == expected


def _compile_string_like(value: str, _: ConditionOperator, has_variables: bool) -> CompiledValue:
    return compile_pattern(parse_pattern(value, has_variables=has_variables), string_matcher)


def _compile_arn(value: str, _: ConditionOperator, has_variables: bool) -> CompiledValue:
    segments = _arn_segments(parse_pattern(value, has_variables=has_variables))
    if not any(isinstance(part, Variable) for segment in segments for part in segment):
        matcher = arn_matcher([parts for segment in segments if (parts := substitute(segment, {})) is not None])
        return lambda _: matcher

    def resolve(values: LowercaseContext) -> Matcher | None:
        resolved = [parts for segment in segments if (parts := substitute(segment, values)) is not None]
        return arn_matcher(resolved) if len(resolved) == len(segments) else None

    return resolve


def _arn_segments(pattern: Pattern) -> list[list[PatternPart]]:
    """Splits a pattern at its first five colons. Colons inside of variables and their values do not count."""
    segments: list[list[PatternPart]] = [[]]
    for part in pattern:
        if not isinstance(part, str):
            segments[-1].append(part)
            continue
        first, *rest = part.split(":", ARN_SEGMENT_COUNT - len(segments))
        segments[-1].append(first)
        segments.extend([text] for text in rest)
    return segments


def _compile_bool(value: str, _: ConditionOperator, has_variables: bool) -> CompiledValue:
    return compile_pattern(parse_pattern(value, has_variables=has_variables, has_wildcards=False), _bool_matcher)


def _bool_matcher(parts: ResolvedPattern) -> Matcher:
    expected = pattern_text(parts).lower()
    return lambda actual: ("true" if condition_values.parse_boolean(actual) else "false") == expected


def _ordered_value_compiler(parse: Callable[[str], Decimal]) -> Callable[[str, ConditionOperator, bool], CompiledValue]:
    """Returns a compiler of values that `==`, `<`, `<=`, `>` and `>=` compare, such as numbers and dates."""

    def compile_value(value: str, operator: ConditionOperator, _: bool) -> CompiledValue:
        relation, expected = _RELATIONS[operator.relation], parse(value)
        return _compiled_constant(lambda actual: relation(parse(actual), expected))

    return compile_value


def _compile_binary(value: str, _: ConditionOperator, __: bool) -> CompiledValue:
    expected = condition_values.parse_binary(value)
    return _compiled_constant(lambda actual: condition_values.parse_binary(actual) == expected)


def _compile_ip_address(value: str, _: ConditionOperator, __: bool) -> CompiledValue:
    network = condition_values.parse_network(value)
    return _compiled_constant(lambda actual: condition_values.parse_address(actual) in network)


def _compiled_constant(matcher: Matcher) -> CompiledValue:
    """Returns the compiled form of a value without variables: its matcher is the same for each request."""
    return lambda _: matcher


_VALUE_COMPILERS: Mapping[OperatorType, Callable[[str, ConditionOperator, bool], CompiledValue]] = {
    "string": _compile_string,
    "string_ignore_case": _compile_string_ignore_case,
    "string_like": _compile_string_like,
    "arn": _compile_arn,
    "bool": _compile_bool,
    "numeric": _ordered_value_compiler(condition_values.parse_number),
    "date": _ordered_value_compiler(condition_values.parse_date),
    "binary": _compile_binary,
    "ip_address": _compile_ip_address,
}
"""Functions that compile a value of a policy, by type of operator.

Their arguments are the value, the operator, and whether the value can have variables.
"""
