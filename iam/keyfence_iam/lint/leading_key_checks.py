"""Checks of the partition keys that an Allow names in `dynamodb:LeadingKeys`."""

import re
from collections.abc import Iterator

from keyfence_iam.lint.findings import Finding, LintRule
from keyfence_iam.lint.linted_statement import LintedCondition, LintedStatement
from keyfence_iam.policy.condition_operators import OperatorType
from keyfence_iam.policy.pattern import find_variables

NO_CLOSING_DELIMITER = LintRule(
    "H4", "no-closing-delimiter", "Write the delimiter between the tenant and the wildcard: <keys>."
)
EMPTY_TAG_OPENS_ALL = LintRule(
    "H9", "empty-tag-opens-all", "Write the delimiter after the tenant: then an empty tag matches no keys."
)
INVALID_TENANT_ID = LintRule("H5", "invalid-tenant-id", "Write <variable>, or the id of one tenant.")
LITERAL_WILDCARD = LintRule(
    "H7", "literal-wildcard", "Use ForAllValues:StringLike: for other operators '*' is an ordinary character."
)
TENANT_NOT_LEADING = LintRule(
    "H12", "tenant-not-leading", "Begin the partition keys of the table and of each index with the tenant: <keys>."
)
FENCE_ON_ANOTHER_VARIABLE = LintRule(
    "H8", "fence-on-another-variable", "Use <variable>: the trust policy guarantees this tag and no other."
)
SHARED_PARTITION = LintRule(
    "H13", "shared-partition", "Name only partitions that begin with the caller's tenant: <keys>."
)

_STRING_TYPES = frozenset[OperatorType]({"string", "string_like", "string_ignore_case"})
_WILDCARD = re.compile(r"(?<!\{)[*?]")
"""A wildcard that is not escaped. An escaped wildcard is written `${*}` or `${?}`."""


def check(statement: LintedStatement) -> Iterator[Finding]:
    for condition in statement.conditions:
        operator = condition.operator
        names_keys = condition.is_leading_keys and operator.type in _STRING_TYPES and not operator.is_negated
        if statement.is_allow and names_keys:
            for value in condition.values:
                yield from _check_value(statement, condition, value)


def _check_value(statement: LintedStatement, condition: LintedCondition, value: str) -> Iterator[Finding]:
    layout = statement.layout
    if condition.operator.type != "string_like" and _WILDCARD.search(value):
        yield statement.finding(LITERAL_WILDCARD, f"{condition.operator_name} compares {value!r} letter by letter")
    elif variables := find_variables(value):
        yield from _check_variable(statement, value, variables[0])
    elif value.startswith(layout.shared_prefixes):
        if len(condition.values) > 1:
            yield statement.finding(SHARED_PARTITION, f"{value!r} is the same partition for every tenant")
    elif value.startswith(layout.prefix_before_tenant):
        yield from _check_literal(statement, value)
    else:
        yield statement.finding(SHARED_PARTITION, f"{value!r} is the same partition for every tenant")


def _check_variable(statement: LintedStatement, value: str, variable: re.Match[str]) -> Iterator[Finding]:
    """Yields the findings of a value with a variable, such as `TENANT#${aws:PrincipalTag/tenant}#*`."""
    layout, before, after = statement.layout, value[: variable.start()], value[variable.end() :]
    if variable["key"].lower() != layout.principal_tag.lower():
        yield statement.finding(
            FENCE_ON_ANOTHER_VARIABLE, f"{variable[0]} is not the tenant, and the caller may choose its value"
        )
    if before not in {"", layout.prefix_before_tenant}:
        yield statement.finding(TENANT_NOT_LEADING, f"{value!r} has {before!r} before the tenant")
    if after and not after.startswith(layout.delimiter):
        yield statement.finding(NO_CLOSING_DELIMITER, f"{value!r} lets acme reach the keys of acmecorp")
    if after.startswith("*"):
        yield statement.finding(EMPTY_TAG_OPENS_ALL, f"{value!r} is {before + after!r} if the tag is empty")


def _check_literal(statement: LintedStatement, value: str) -> Iterator[Finding]:
    """Yields the findings of a value that names a tenant without a variable, such as `TENANT#acme#*`."""
    layout = statement.layout
    tenant, delimiter, _ = value.removeprefix(layout.prefix_before_tenant).partition(layout.delimiter)
    if layout.tenant_id_pattern.fullmatch(tenant):
        return
    if not delimiter and tenant[-1:] in {"*", "?"} and layout.tenant_id_pattern.fullmatch(tenant.rstrip("*?")):
        yield statement.finding(NO_CLOSING_DELIMITER, f"{value!r} lets acme reach the keys of acmecorp")
    else:
        yield statement.finding(INVALID_TENANT_ID, f"{tenant!r} is not the id of one tenant")
