"""Checks of conditions: keys that no request has, wrong ForAllValues or ForAnyValue, and wrong revocations."""

from collections.abc import Iterator

from keyfence_iam.lint import missing_key_checks
from keyfence_iam.lint.findings import Finding, LintRule
from keyfence_iam.lint.known_condition_keys import (
    is_known_key,
    is_multivalued,
    suggest_key,
)
from keyfence_iam.lint.linted_statement import LintedCondition, LintedStatement

BLANK_IN_CONDITION_KEY = LintRule("H2", "blank-in-condition-key", "Remove the blank from the key.")
UNKNOWN_CONDITION_KEY = LintRule("H2", "unknown-condition-key", "Use a key that the service sends with the request.")
SET_OPERATOR_ON_SINGLE_VALUE = LintRule(
    "H2",
    "set-operator-on-single-value",
    "Remove ForAllValues or ForAnyValue: with ForAllValues, a request without the key passes.",
)
SET_OPERATOR_MISSING = LintRule(
    "H7", "set-operator-missing", "Write ForAllValues: before the operator, and add a Null guard."
)
REVERSED_REVOCATION = LintRule("H27", "reversed-revocation", "Deny with DateLessThan, which ends the older sessions.")


def check(statement: LintedStatement) -> Iterator[Finding]:
    """Yields the findings of each condition, including those of `missing_key_checks`."""
    for condition in statement.conditions:
        yield from _check_key(statement, condition)
        yield from _check_quantifier(statement, condition)
        yield from missing_key_checks.check_condition(statement, condition)
        yield from _check_revocation(statement, condition)


def _check_key(statement: LintedStatement, condition: LintedCondition) -> Iterator[Finding]:
    key = condition.key
    if is_known_key(key) or condition.lowercase_key.partition(":")[0] in statement.services_with_unknown_keys:
        return
    suggestion = suggest_key(key)
    hint = f" (did you mean {suggestion}?)" if suggestion else ""
    rule = BLANK_IN_CONDITION_KEY if any(character.isspace() for character in key) else UNKNOWN_CONDITION_KEY
    yield statement.finding(rule, f"no request has {key!r}{hint}, so ForAllValues and IfExists always hold")


def _check_quantifier(statement: LintedStatement, condition: LintedCondition) -> Iterator[Finding]:
    name, key = condition.operator_name, condition.key
    if condition.is_null_check or not is_known_key(key):
        return
    if condition.operator.quantifier and not is_multivalued(key):
        yield statement.finding(SET_OPERATOR_ON_SINGLE_VALUE, f"{name} on {key}, which always has a single value")
    if not condition.operator.quantifier and is_multivalued(key):
        effect = "the Allow grants nothing" if statement.is_allow else "the Deny denies nothing"
        yield statement.finding(SET_OPERATOR_MISSING, f"{name} without a set operator never matches {key}: {effect}")


def _check_revocation(statement: LintedStatement, condition: LintedCondition) -> Iterator[Finding]:
    """Yields a finding if the statement revokes the newer sessions and not the older ones."""
    matches_newer = condition.operator.relation.startswith(">")
    if condition.lowercase_key == "aws:tokenissuetime" and matches_newer != statement.is_allow:
        effect = f"{statement.statement.effect} with {condition.operator_name}"
        yield statement.finding(REVERSED_REVOCATION, f"{effect} keeps the older sessions alive")
