"""Checks of policy variables and tags: unknown variables, defaults, spelling, tagging of roles."""

import re
from collections.abc import Iterable, Iterator

from keyfence_iam.lint.findings import Finding, LintRule
from keyfence_iam.lint.known_condition_keys import TAG_KEYS, is_known_key
from keyfence_iam.lint.linted_statement import LintedCondition, LintedStatement
from keyfence_iam.policy.pattern import find_variables

VARIABLE_WITH_DEFAULT = LintRule(
    "H8", "variable-with-default", "Remove the default: a session without the tag must get nothing."
)
DENY_SKIPPED_WITHOUT_TAG = LintRule(
    "H8",
    "deny-skipped-without-tag",
    "Compare the condition key of the tag and not a variable. Deny requests without the tag with a Null condition.",
)
UNKNOWN_VARIABLE = LintRule("H2", "unknown-variable", "Use a key that has one value in every request.")
ROLE_TAGGING_GRANTED = LintRule(
    "H10", "role-tagging-granted", "Do not tag roles: a session without tags of its own has the tags of its role."
)
TAG_KEY_SPELLING = LintRule("H11", "tag-key-spelling", "Write `<tag>` everywhere.")
CASE_IGNORED = LintRule("H11", "case-ignored", "Compare keys exactly: tenant ids and keys are case-sensitive.")


def check(statement: LintedStatement) -> Iterator[Finding]:
    for action in statement.allowed_actions(("iam:TagRole",)):
        yield statement.finding(ROLE_TAGGING_GRANTED, f"{action} can give every session of a role any tenant")
    for condition in statement.conditions:
        yield from _check_variables(statement, condition.variables)
        yield from _check_variables_in_deny(statement, condition)
        yield from _check_case(statement, condition)
    resource_variables = [
        variable for resource in statement.statement.resources for variable in find_variables(resource)
    ]
    yield from _check_variables(statement, resource_variables)
    yield from _check_spelling(statement, _tag_names(*(variable["key"] for variable in resource_variables)))


def _check_variables(statement: LintedStatement, variables: Iterable[re.Match[str]]) -> Iterator[Finding]:
    for variable in variables:
        if not is_known_key(variable["key"]):
            yield statement.finding(UNKNOWN_VARIABLE, f"{variable[0]} has no value in any request")
        elif variable["default"] is not None and statement.is_allow:
            yield statement.finding(VARIABLE_WITH_DEFAULT, f"{variable[0]} has the default value if the tag is missing")


def _check_variables_in_deny(statement: LintedStatement, condition: LintedCondition) -> Iterator[Finding]:
    if not statement.is_allow and condition.variables and not condition.operator.is_negated:
        problem = f"if {condition.variables[0][0]} has no value, the condition fails and nothing is denied"
        yield statement.finding(DENY_SKIPPED_WITHOUT_TAG, problem)


def _check_case(statement: LintedStatement, condition: LintedCondition) -> Iterator[Finding]:
    if condition.is_leading_keys and condition.operator.type == "string_ignore_case":
        yield statement.finding(CASE_IGNORED, f"{condition.operator_name} ignores the case of {condition.key}")
    tags = _tag_names(condition.key, *(variable["key"] for variable in condition.variables))
    if condition.lowercase_key == TAG_KEYS and not condition.is_null_check:
        tags += condition.values
    yield from _check_spelling(statement, tags)


def _tag_names(*keys: str) -> list[str]:
    """Returns the tag in each key such as `aws:PrincipalTag/tenant`. Other keys are left out."""
    return [key.partition("/")[2] for key in keys if "tag/" in key.lower()]


def _check_spelling(statement: LintedStatement, tags: Iterable[str]) -> Iterator[Finding]:
    """Yields a finding for each tag that differs from the session tag only in case."""
    expected = statement.layout.session_tag
    for tag in sorted({tag for tag in tags if tag.lower() == expected.lower() and tag != expected}):
        yield statement.finding(
            TAG_KEY_SPELLING, f"IAM treats {tag} as {expected}, except in the values of aws:TagKeys"
        )
