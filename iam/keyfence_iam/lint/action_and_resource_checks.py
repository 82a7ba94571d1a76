"""Checks of the actions and resources that a statement allows, and of its lists of attributes."""

from collections.abc import Iterator

from keyfence_iam.lint.findings import Finding, LintRule
from keyfence_iam.lint.known_condition_keys import ATTRIBUTES_KEY, LEADING_KEY_NAMES
from keyfence_iam.lint.leading_key_checks import FENCE_ON_ANOTHER_VARIABLE
from keyfence_iam.lint.linted_statement import LintedStatement
from keyfence_iam.policy.actions import (
    ITEM_ACTIONS,
    KEYED_ITEM_ACTIONS,
    PARTIQL_ACTIONS,
    READ_ACTIONS,
    SCAN,
    STREAM_READ_ACTIONS,
    TABLE_ADMIN_ACTIONS,
    TABLE_COPY_ACTIONS,
    VECTOR_SEARCH,
)
from keyfence_iam.policy.pattern import find_variables

WILDCARD_ACTION = LintRule(
    "H1", "wildcard-action", "List the actions by name: a wildcard also grants the actions that AWS adds later."
)
NOT_ACTION_IN_ALLOW = LintRule("H1", "not-action-in-allow", "Use Action, and list the allowed actions.")
SCAN_GRANTED = LintRule("H1", "scan-granted", "Remove Scan: it returns the items of every tenant.")
PARTIQL_GRANTED = LintRule("H1", "partiql-granted", "Remove PartiQL, or require leading keys with a Null guard.")
UNFENCED_DATA_CALL = LintRule(
    "H14",
    "unfenced-data-call",
    "Allow these actions only with ForAllValues and Null conditions on dynamodb:LeadingKeys.",
)
TABLE_WIDE_CALL = LintRule(
    "H19", "table-wide-call", "Allow these actions only in a system role that does nothing else."
)
TABLE_ADMINISTRATION = LintRule(
    "H19", "table-administration", "Allow these actions only in a role without item actions. Never allow DeleteTable."
)
DAX_GRANTED = LintRule(
    "H31", "dax-granted", "Do not use DAX: it calls DynamoDB with its own role, and does not separate its callers."
)
VECTOR_SEARCH_GRANTED = LintRule(
    "H32",
    "vector-search-granted",
    "Never allow SearchVectors: it has no condition key that could limit it to a tenant.",
)

TABLE_WILDCARD = LintRule("H29", "table-wildcard", "Write table/NAME and table/NAME/index/INDEX as separate resources.")
ROLE_WILDCARD = LintRule("H29", "role-wildcard", "List the roles that may be assumed.")
NOT_RESOURCE_IN_ALLOW = LintRule("H29", "not-resource-in-allow", "Use Resource, and list the allowed resources.")

RETURN_VALUES_OPEN = LintRule(
    "H15",
    "return-values-open",
    'Add "StringEqualsIfExists": {"dynamodb:ReturnValues": ["NONE", "UPDATED_OLD", "UPDATED_NEW"]}.',
)
PROJECTION_NOT_REQUIRED = LintRule(
    "H16", "projection-not-required", 'Add "StringEquals": {"dynamodb:Select": "SPECIFIC_ATTRIBUTES"}.'
)
WHOLE_ITEM_REPLACED = LintRule(
    "H17", "whole-item-replaced", "Allow only UpdateItem in a statement that lists attributes."
)

_DELETE_TABLE = "dynamodb:DeleteTable"
_OTHER_TABLE_WIDE_ACTIONS = ("dynamodb:PutResourcePolicy", "dynamodb:CreateGlobalTable", "dynamodb:CreateTableReplica")
_ACTIONS_THAT_RETURN_OLD_ITEMS = (
    "dynamodb:PutItem",
    "dynamodb:UpdateItem",
    "dynamodb:DeleteItem",
    "dynamodb:ConditionCheckItem",
)
_ACTIONS_THAT_REPLACE_ITEMS = ("dynamodb:PutItem", "dynamodb:DeleteItem", "dynamodb:BatchWriteItem")
_ACTIONS_WITHOUT_RESOURCE = frozenset(
    f"dynamodb:{name}".lower()
    for name in (
        "ListStreams", "ListTables", "ListBackups", "ListExports", "ListImports", "ListGlobalTables",
        "DescribeLimits", "DescribeEndpoints", "DescribeReservedCapacity", "DescribeReservedCapacityOfferings",
    )
)  # fmt: skip
"""Actions that AWS authorizes only for the resource `*`."""


def check_actions(statement: LintedStatement) -> Iterator[Finding]:
    if statement.is_allow:
        yield from _check_wildcards(statement)
        yield from _check_item_actions(statement)
        yield from _check_table_actions(statement)


def check_resources(statement: LintedStatement) -> Iterator[Finding]:
    if not statement.is_allow or statement.policy_kind != "identity":
        return
    if statement.statement.not_resources:
        yield statement.finding(NOT_RESOURCE_IN_ALLOW, "everything except the listed resources is granted")
    for resource in statement.statement.resources:
        yield from _check_variables(statement, resource)
        allows_tables = _has_actions_of(statement, "dynamodb:", _ACTIONS_WITHOUT_RESOURCE)
        if allows_tables and _matches_other_tables(resource) and not _may_have_table_wildcard(statement):
            yield statement.finding(TABLE_WILDCARD, f"{resource} matches indexes, streams or other tables too")
        if _has_actions_of(statement, "sts:") and ("*" in resource or "?" in resource):
            yield statement.finding(ROLE_WILDCARD, f"{resource} matches roles that are not named here")


def check_attributes(statement: LintedStatement) -> Iterator[Finding]:
    """Yields the findings of a statement that limits callers to listed attributes."""
    if not any(
        condition.lowercase_key == ATTRIBUTES_KEY and not condition.is_null_check for condition in statement.conditions
    ):
        return
    whole_items = {"ALL_OLD", "ALL_NEW"}
    returns_items = statement.allowed_actions(_ACTIONS_THAT_RETURN_OLD_ITEMS)
    if returns_items and not _excludes(statement, "dynamodb:returnvalues", whole_items):
        yield statement.finding(RETURN_VALUES_OPEN, "a caller can request the whole item with ReturnValues")
    all_attributes = {"ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES"}
    if statement.allowed_actions((*READ_ACTIONS, SCAN)) and not _excludes(statement, "dynamodb:select", all_attributes):
        yield statement.finding(PROJECTION_NOT_REQUIRED, "a read without a projection returns every attribute")
    if allowed := statement.allowed_actions(_ACTIONS_THAT_REPLACE_ITEMS):
        yield statement.finding(WHOLE_ITEM_REPLACED, f"{_list_names(allowed)}: attributes that are not listed are lost")


def _check_wildcards(statement: LintedStatement) -> Iterator[Finding]:
    for action in statement.statement.actions:
        if "*" in action or "?" in action:
            yield statement.finding(WILDCARD_ACTION, f"{action} also matches actions that are not named here")
    if statement.statement.not_actions:
        yield statement.finding(NOT_ACTION_IN_ALLOW, "every action of every service is granted, except the listed ones")


def _check_item_actions(statement: LintedStatement) -> Iterator[Finding]:
    if statement.allowed_actions((SCAN,)) and not statement.is_exempt_from(SCAN_GRANTED):
        yield statement.finding(SCAN_GRANTED, "a Scan has no leading keys, so no condition on leading keys limits it")
    if (allowed := statement.allowed_actions(PARTIQL_ACTIONS)) and not _requires_leading_keys(statement):
        problem = f"{_list_names(allowed)}: a statement without a key condition reads the whole table"
        yield statement.finding(PARTIQL_GRANTED, problem)
    has_leading_keys = any(
        condition.is_leading_keys and not condition.is_null_check for condition in statement.conditions
    )
    if not has_leading_keys and (allowed := statement.allowed_actions((*KEYED_ITEM_ACTIONS, *PARTIQL_ACTIONS))):
        yield statement.finding(UNFENCED_DATA_CALL, f"{_list_names(allowed)}: allowed on every partition")


def _check_table_actions(statement: LintedStatement) -> Iterator[Finding]:
    yield from _check_administration(statement)
    allowed = statement.allowed_actions((*STREAM_READ_ACTIONS, *TABLE_COPY_ACTIONS, *_OTHER_TABLE_WIDE_ACTIONS))
    if allowed and not statement.is_exempt_from(TABLE_WIDE_CALL):
        problem = f"{_list_names(allowed)}: allowed on the items of all tenants, since no condition on keys limits it"
        yield statement.finding(TABLE_WIDE_CALL, problem)
    if statement.allowed_actions((VECTOR_SEARCH,)):
        yield statement.finding(VECTOR_SEARCH_GRANTED, "SearchVectors returns items of all tenants")
    if any(action.lower().startswith("dax:") for action in statement.statement.actions):
        yield statement.finding(DAX_GRANTED, "DAX answers from its own cache, and calls DynamoDB with its own role")


def _check_administration(statement: LintedStatement) -> Iterator[Finding]:
    """Yields a finding if the statement allows DeleteTable.

    In a policy that also allows item actions, yields a finding if the statement allows any of TABLE_ADMIN_ACTIONS.

    A statement that requires leading keys never allows these actions, since their requests have no leading keys.
    """
    if _requires_leading_keys(statement) or statement.is_exempt_from(TABLE_ADMINISTRATION):
        return
    dangerous_actions = TABLE_ADMIN_ACTIONS if statement.policy_allows_any(ITEM_ACTIONS) else (_DELETE_TABLE,)
    if allowed := statement.allowed_actions(dangerous_actions):
        yield statement.finding(
            TABLE_ADMINISTRATION, f"{_list_names(allowed)}: can change or delete the table of all tenants"
        )


def _requires_leading_keys(statement: LintedStatement) -> bool:
    return any(statement.requires_key(key) for key in LEADING_KEY_NAMES)


def _list_names(actions: tuple[str, ...]) -> str:
    """Returns the first three actions without their service, and the number of the others."""
    names = [action.partition(":")[2] for action in actions]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _check_variables(statement: LintedStatement, resource: str) -> Iterator[Finding]:
    for variable in find_variables(resource):
        is_tenant = variable["key"].lower() == statement.layout.principal_tag.lower()
        if not is_tenant and _has_actions_of(statement, "dynamodb:"):
            yield statement.finding(FENCE_ON_ANOTHER_VARIABLE, f"{variable[0]} in {resource} is not the tenant")


def _may_have_table_wildcard(statement: LintedStatement) -> bool:
    """Returns whether the Sid exempts the statement from TABLE_WILDCARD.

    A statement with item actions cannot be exempt: item actions must name their tables.
    """
    return statement.is_exempt_from(TABLE_WILDCARD) and not statement.allowed_actions(KEYED_ITEM_ACTIONS)


def _has_actions_of(statement: LintedStatement, service: str, excluded: frozenset[str] = frozenset()) -> bool:
    """Returns whether the statement names actions of the service, such as "dynamodb:", other than the excluded ones."""
    actions = [action.lower() for action in statement.statement.actions]
    return any(action == "*" or (action.startswith(service) and action not in excluded) for action in actions)


def _matches_other_tables(resource: str) -> bool:
    """Returns whether the resource has a wildcard in the table's name or in the word `index` or `stream`.

    A wildcard in the name of an index or in the label of a stream matches no other table. For a resource that does not
    begin with the ARN of a table, returns whether it has a `*`.
    """
    tail = resource.split(":", 5)[-1]
    if not resource.startswith("arn:") or tail.partition("/")[0] != "table":
        return "*" in resource
    return any(wildcard in part for part in tail.split("/")[1:3] for wildcard in "*?")


def _excludes(statement: LintedStatement, key: str, values: set[str]) -> bool:
    """Returns whether a condition on this key rejects all of the values."""
    conditions = [
        condition
        for condition in statement.conditions
        if condition.lowercase_key == key and not condition.operator.is_negated
    ]
    return any(not values & set(condition.values) and "*" not in "".join(condition.values) for condition in conditions)
