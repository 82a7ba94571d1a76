"""Checks of condition keys and operators: keys that no request has, set operators, revocations."""

from collections.abc import Iterator

from keyfence_iam.lint.known_condition_keys import (
    ATTRIBUTES,
    LEADING,
    TAG_KEYS,
    is_known_key,
    is_multivalued,
    suggest_key,
)
from keyfence_iam.lint.linted_statement import Finding, LintedCondition, LintedStatement, LintRule

BLANK_IN_KEY = LintRule("H2", "blank-in-condition-key", "Remove the blank from the key.")
UNKNOWN_KEY = LintRule("H2", "unknown-condition-key", "Use a key that the service sends with the request.")
SINGLE_VALUED = LintRule(
    "H2",
    "set-operator-on-single-value",
    "Use the operator without its prefix: a request without the key passes this one.",
)
MISSING_NULL_GUARD = LintRule("H1", "missing-null-guard", 'Add "Null": {"<the key>": "false"} to the same statement.')
IF_EXISTS_IN_ALLOW = LintRule("H1", "if-exists-in-allow", "Remove IfExists: a request without the key passes.")
ANY_VALUE = LintRule(
    "H6", "for-any-value", "Use ForAllValues and a Null guard: every key of a batch must be the caller's."
)
ALL_IN_DENY = LintRule("H6", "for-all-values-in-deny", "Use ForAnyValue in a Deny: one matching key must be enough.")
SET_MISSING = LintRule("H7", "set-operator-missing", "Write ForAllValues: before the operator, and add a Null guard.")
REVERSED_REVOCATION = LintRule("H27", "reversed-revocation", "Deny with DateLessThan, which ends the older sessions.")


def check(statement: LintedStatement) -> Iterator[Finding]:
    for condition in statement.conditions:
        yield from _check_key(statement, condition)
        yield from _check_quantifier(statement, condition)
        yield from _check_fence(statement, condition)
        yield from _check_revocation(statement, condition)


def _check_key(statement: LintedStatement, condition: LintedCondition) -> Iterator[Finding]:
    key = condition.key
    if is_known_key(key) or condition.folded_key.partition(":")[0] in statement.other_services:
        return
    suggestion = suggest_key(key)
    hint = f" (did you mean {suggestion}?)" if suggestion else ""
    rule = BLANK_IN_KEY if any(character.isspace() for character in key) else UNKNOWN_KEY
    yield statement.finding(rule, f"no request has {key!r}{hint}: ForAllValues and IfExists hold without it")


def _check_quantifier(statement: LintedStatement, condition: LintedCondition) -> Iterator[Finding]:
    name, key = condition.operator_name, condition.key
    if condition.is_null_check or not is_known_key(key):
        return
    if condition.operator.quantifier and not is_multivalued(key):
        yield statement.finding(SINGLE_VALUED, f"{name} on {key}, which has one value")
    if not condition.operator.quantifier and is_multivalued(key):
        effect = "the Allow grants nothing" if statement.allows else "the Deny denies nothing"
        yield statement.finding(SET_MISSING, f"{name} without a set operator never matches {key}: {effect}")


def _check_fence(statement: LintedStatement, condition: LintedCondition) -> Iterator[Finding]:
    """A condition that separates tenants must hold for every value, and must fail for requests without a value."""
    key, quantifier = condition.key, condition.operator.quantifier
    if not (condition.is_leading_keys or condition.folded_key in {ATTRIBUTES, TAG_KEYS}):
        return
    if not statement.allows:
        if quantifier == "ForAllValues" and condition.folded_key != TAG_KEYS:
            yield statement.finding(ALL_IN_DENY, f"a batch with other keys too escapes this Deny on {key}")
    elif quantifier == "ForAnyValue":
        yield statement.finding(ANY_VALUE, f"one matching value of {key} lets all the others pass")
    elif quantifier == "ForAllValues" and not _has_null_guard(statement, condition):
        yield statement.finding(
            MISSING_NULL_GUARD, f"requests without {key}, such as Scan, pass {condition.operator_name}"
        )
    if statement.allows and condition.operator.if_exists:
        yield statement.finding(IF_EXISTS_IN_ALLOW, f"requests without {key} pass {condition.operator_name}")


def _has_null_guard(statement: LintedStatement, condition: LintedCondition) -> bool:
    if statement.requires_key(condition.key):
        return True
    if condition.folded_key == TAG_KEYS:
        return any(other.folded_key.startswith("aws:requesttag/") for other in statement.conditions)
    return condition.is_leading_keys and any(statement.requires_key(key) for key in LEADING)


def _check_revocation(statement: LintedStatement, condition: LintedCondition) -> Iterator[Finding]:
    later = condition.operator.relation.startswith(">")
    if condition.folded_key == "aws:tokenissuetime" and later != statement.allows:
        effect = f"{statement.statement.effect} with {condition.operator_name}"
        yield statement.finding(REVERSED_REVOCATION, f"{effect} keeps the older sessions alive")
