"""Checks of conditions that hold although the key is missing, or although only some of its values match.

A `Null` guard is a second condition that rejects requests without the key.
"""

from collections.abc import Iterator

from keyfence_iam.lint.findings import Finding, LintRule
from keyfence_iam.lint.known_condition_keys import ATTRIBUTES_KEY, LEADING_KEY_NAMES, TAG_KEYS
from keyfence_iam.lint.linted_statement import LintedCondition, LintedStatement

MISSING_NULL_GUARD = LintRule("H1", "missing-null-guard", 'Add "Null": {"<the key>": "false"} to the same statement.')
IF_EXISTS_IN_ALLOW = LintRule("H1", "if-exists-in-allow", "Remove IfExists: with it, a request without the key passes.")
NEGATED_OPERATOR_IN_ALLOW = LintRule(
    "H8", "negated-operator-in-allow", "Use an operator without Not, or use a Deny for the other values."
)
FOR_ANY_VALUE = LintRule(
    "H6", "for-any-value", "Use ForAllValues and a Null guard: every key of a batch must be the caller's."
)
FOR_ALL_VALUES_IN_DENY = LintRule(
    "H6", "for-all-values-in-deny", "Use ForAnyValue in a Deny: one matching value must be enough."
)


def check_condition(statement: LintedStatement, condition: LintedCondition) -> Iterator[Finding]:
    """Yields the findings of a condition on leading keys, attributes or tags.

    In an Allow, such a condition must hold for every value, and must fail for a request without the key.
    """
    yield from _check_negation(statement, condition)
    key, quantifier = condition.key, condition.operator.quantifier
    if not (condition.is_leading_keys or condition.lowercase_key in {ATTRIBUTES_KEY, TAG_KEYS}):
        return
    if not statement.is_allow:
        if quantifier == "ForAllValues" and condition.lowercase_key != TAG_KEYS:
            yield statement.finding(
                FOR_ALL_VALUES_IN_DENY, f"this Deny on {key} does not apply to a batch that also has other values"
            )
    elif quantifier == "ForAnyValue":
        yield statement.finding(FOR_ANY_VALUE, f"if one value of {key} matches, all other values pass too")
    elif quantifier == "ForAllValues" and not _has_null_guard(statement, condition):
        yield statement.finding(MISSING_NULL_GUARD, f"requests without {key} pass {condition.operator_name}")
    if statement.is_allow and condition.operator.if_exists:
        yield statement.finding(IF_EXISTS_IN_ALLOW, f"requests without {key} pass {condition.operator_name}")


def _check_negation(statement: LintedStatement, condition: LintedCondition) -> Iterator[Finding]:
    """Yields a finding if an Allow compares leading keys, tags or variables with an operator such as StringNotLike."""
    concerns_tenant = (
        condition.is_leading_keys
        or bool(condition.variables)
        or condition.lowercase_key.startswith("aws:principaltag/")
    )
    if statement.is_allow and condition.operator.is_negated and concerns_tenant:
        problem = f"{condition.operator_name} on {condition.key} holds if the key or the tag is missing"
        yield statement.finding(NEGATED_OPERATOR_IN_ALLOW, problem)


def _has_null_guard(statement: LintedStatement, condition: LintedCondition) -> bool:
    """Returns whether another condition of the statement fails for a request without the key.

    For aws:TagKeys, a condition on one request tag is enough: a request without tags does not have this tag.
    """
    if statement.requires_key(condition.key):
        return True
    if condition.lowercase_key == TAG_KEYS:
        return any(other.lowercase_key.startswith("aws:requesttag/") for other in statement.conditions)
    return condition.is_leading_keys and any(statement.requires_key(key) for key in LEADING_KEY_NAMES)
