"""Checks of policy variables and tags: defaults, negations, spelling, tagging of roles."""

import re
from collections.abc import Iterable, Iterator

from keyfence_iam.lint.known_condition_keys import TAG_KEYS, is_known_key
from keyfence_iam.lint.linted_statement import Finding, LintedCondition, LintedStatement, LintRule
from keyfence_iam.policy.pattern import find_variables

NEGATED = LintRule("H8", "negated-operator-in-allow", "Allow with a positive operator, or deny the rest.")
DEFAULTED = LintRule("H8", "variable-with-default", "Remove the default: a session without the tag must get nothing.")
SKIPPED_DENY = LintRule("H8", "deny-skipped-without-tag", "Compare the tag by its key, and deny its absence with Null.")
UNKNOWN_VARIABLE = LintRule("H2", "unknown-variable", "Use a key that has one value in every request.")
ROLE_TAGGING = LintRule("H10", "role-tagging-granted", "Tag no role: sessions without own tags inherit a role's tags.")
SPELLING = LintRule("H11", "tag-key-spelling", "Write `<tag>` everywhere.")
CASE_IGNORED = LintRule("H11", "case-ignored", "Compare keys exactly: tenant ids and keys are case-sensitive.")


def check(statement: LintedStatement) -> Iterator[Finding]:
    for action in statement.granted(("iam:TagRole",)):
        yield statement.finding(ROLE_TAGGING, f"{action} can give every session of a role any tenant")
    for condition in statement.conditions:
        yield from _check_variables(statement, condition.variables)
        yield from _check_negation(statement, condition)
        yield from _check_spelling(statement, condition)
    in_resources = [variable for resource in statement.statement.resources for variable in find_variables(resource)]
    yield from _check_variables(statement, in_resources)
    yield from _check_tags(statement, _tags(*(variable["key"] for variable in in_resources)))


def _check_variables(statement: LintedStatement, variables: Iterable[re.Match[str]]) -> Iterator[Finding]:
    for variable in variables:
        if not is_known_key(variable["key"]):
            yield statement.finding(UNKNOWN_VARIABLE, f"{variable[0]} has no value in any request")
        elif variable["default"] is not None and statement.allows:
            yield statement.finding(DEFAULTED, f"{variable[0]} has the default value if the tag is missing")


def _check_negation(statement: LintedStatement, condition: LintedCondition) -> Iterator[Finding]:
    variables, negated = condition.variables, condition.operator.negated
    about_tenant = condition.is_leading_keys or bool(variables) or condition.folded_key.startswith("aws:principaltag/")
    if statement.allows and negated and about_tenant:
        problem = f"{condition.operator_name} on {condition.key} holds if the key or the tag is missing"
        yield statement.finding(NEGATED, problem)
    if not statement.allows and variables and not negated:
        yield statement.finding(SKIPPED_DENY, f"without {variables[0][0]} the condition fails and nothing is denied")


def _check_spelling(statement: LintedStatement, condition: LintedCondition) -> Iterator[Finding]:
    if condition.is_leading_keys and condition.operator.type == "string_ignore_case":
        yield statement.finding(CASE_IGNORED, f"{condition.operator_name} on {condition.key}")
    tags = _tags(condition.key, *(variable["key"] for variable in condition.variables))
    if condition.folded_key == TAG_KEYS and not condition.is_null_check:
        tags += condition.values
    yield from _check_tags(statement, tags)


def _tags(*keys: str) -> list[str]:
    return [key.partition("/")[2] for key in keys if "tag/" in key.lower()]


def _check_tags(statement: LintedStatement, tags: Iterable[str]) -> Iterator[Finding]:
    expected = statement.layout.session_tag
    for tag in sorted({tag for tag in tags if tag.lower() == expected.lower() and tag != expected}):
        yield statement.finding(SPELLING, f"IAM treats {tag} as {expected}, except in the values of aws:TagKeys")
