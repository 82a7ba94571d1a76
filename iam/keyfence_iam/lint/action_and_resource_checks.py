"""Checks of actions, resources and attribute lists."""

from collections.abc import Iterator

from keyfence_iam.lint.known_condition_keys import ATTRIBUTES, LEADING
from keyfence_iam.lint.leading_key_checks import OTHER_VARIABLE
from keyfence_iam.lint.linted_statement import Finding, LintedStatement, LintRule
from keyfence_iam.policy.actions import (
    ITEM_ACTIONS,
    KEYED_ITEM_ACTIONS,
    PARTIQL,
    READS,
    SCAN,
    STREAM_READS,
    TABLE_ADMIN_ACTIONS,
    TABLE_COPY_ACTIONS,
    VECTOR_SEARCH,
)
from keyfence_iam.policy.pattern import find_variables

WILDCARD = LintRule(
    "H1", "wildcard-action", "List the actions by name: a wildcard also grants the actions that AWS adds later."
)
NOT_ACTION = LintRule("H1", "not-action-in-allow", "List the allowed actions with Action.")
SCAN_GRANTED = LintRule("H1", "scan-granted", "Remove Scan: it returns the items of every tenant.")
PARTIQL_OPEN = LintRule("H1", "partiql-granted", "Remove PartiQL, or require leading keys with a Null guard.")
NO_LEADING_KEYS = LintRule(
    "H14", "unfenced-data-call", "Grant it only with ForAllValues and Null conditions on dynamodb:LeadingKeys."
)
TABLE_WIDE = LintRule("H19", "table-wide-call", "Grant it only to a system role of its own.")
TABLE_ADMINISTRATION = LintRule(
    "H19", "table-administration", "Grant it only to a role that reads and writes no items, and never DeleteTable."
)
DAX = LintRule("H31", "dax-granted", "Do not use DAX: it calls DynamoDB with its own role, and fences no caller.")
VECTORS = LintRule("H32", "vector-search-granted", "Never grant it: it has no condition key that could fence it.")

TABLE_WILDCARD = LintRule("H29", "table-wildcard", "Write table/NAME and table/NAME/index/INDEX, each on its own.")
ROLE_WILDCARD = LintRule("H29", "role-wildcard", "List the roles that may be assumed.")
NOT_RESOURCE = LintRule("H29", "not-resource-in-allow", "List the allowed resources with Resource.")

RETURNED = LintRule(
    "H15", "return-values-open", "Add StringEqualsIfExists dynamodb:ReturnValues [NONE, UPDATED_OLD, UPDATED_NEW]."
)
UNPROJECTED = LintRule("H16", "projection-not-required", "Add StringEquals dynamodb:Select SPECIFIC_ATTRIBUTES.")
WHOLE_ITEM = LintRule("H17", "whole-item-replaced", "Grant only UpdateItem where attributes are listed.")

_DELETE_TABLE = "dynamodb:DeleteTable"
_OTHER_COPIES = ("dynamodb:PutResourcePolicy", "dynamodb:CreateGlobalTable", "dynamodb:CreateTableReplica")
_RETURN_OLD_ITEMS = ("dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem", "dynamodb:ConditionCheckItem")
_REPLACE_ITEMS = ("dynamodb:PutItem", "dynamodb:DeleteItem", "dynamodb:BatchWriteItem")
_WITHOUT_RESOURCE = frozenset(
    f"dynamodb:{name}".lower()
    for name in (
        "ListStreams", "ListTables", "ListBackups", "ListExports", "ListImports", "ListGlobalTables",
        "DescribeLimits", "DescribeEndpoints", "DescribeReservedCapacity", "DescribeReservedCapacityOfferings",
    )
)  # fmt: skip
"""Actions that AWS authorizes for the resource `*` only."""


def check_actions(statement: LintedStatement) -> Iterator[Finding]:
    if statement.allows:
        yield from _check_wildcards(statement)
        yield from _check_item_actions(statement)
        yield from _check_table_actions(statement)


def check_resources(statement: LintedStatement) -> Iterator[Finding]:
    if not statement.allows or statement.kind != "identity":
        return
    if statement.statement.not_resources:
        yield statement.finding(NOT_RESOURCE, "everything except the listed resources is granted")
    for resource in statement.statement.resources:
        yield from _check_variables(statement, resource)
        on_tables = _has_actions_of(statement, "dynamodb:", _WITHOUT_RESOURCE)
        if on_tables and _matches_other_tables(resource) and not _accepts_table_wildcard(statement):
            yield statement.finding(TABLE_WILDCARD, f"{resource} matches indexes, streams or other tables too")
        if _has_actions_of(statement, "sts:") and ("*" in resource or "?" in resource):
            yield statement.finding(ROLE_WILDCARD, f"{resource} matches more roles than one can name")


def check_attributes(statement: LintedStatement) -> Iterator[Finding]:
    if not any(one.folded_key == ATTRIBUTES and not one.is_null_check for one in statement.conditions):
        return
    whole_items = {"ALL_OLD", "ALL_NEW"}
    if statement.granted(_RETURN_OLD_ITEMS) and not _excludes(statement, "dynamodb:returnvalues", whole_items):
        yield statement.finding(RETURNED, "ReturnValues can ask for the whole item")
    all_attributes = {"ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES"}
    if statement.granted((*READS, SCAN)) and not _excludes(statement, "dynamodb:select", all_attributes):
        yield statement.finding(UNPROJECTED, "a read without a projection returns every attribute")
    if granted := statement.granted(_REPLACE_ITEMS):
        yield statement.finding(WHOLE_ITEM, f"{_names(granted)}: attributes that are not listed are lost")


def _check_wildcards(statement: LintedStatement) -> Iterator[Finding]:
    for action in statement.statement.actions:
        if "*" in action or "?" in action:
            yield statement.finding(WILDCARD, f"{action} grants more than it names")
    if statement.statement.not_actions:
        yield statement.finding(NOT_ACTION, "every action of every service is granted, except the listed ones")


def _check_item_actions(statement: LintedStatement) -> Iterator[Finding]:
    if statement.granted((SCAN,)) and not statement.accepts(SCAN_GRANTED):
        yield statement.finding(SCAN_GRANTED, "Scan has no leading keys: no condition on them limits it")
    if (granted := statement.granted(PARTIQL)) and not _requires_leading_keys(statement):
        problem = f"{_names(granted)}: a statement without a key condition reads the whole table"
        yield statement.finding(PARTIQL_OPEN, problem)
    fenced = any(one.is_leading_keys and not one.is_null_check for one in statement.conditions)
    if not fenced and (granted := statement.granted((*KEYED_ITEM_ACTIONS, *PARTIQL))):
        yield statement.finding(NO_LEADING_KEYS, f"{_names(granted)} on every partition")


def _check_table_actions(statement: LintedStatement) -> Iterator[Finding]:
    yield from _check_administration(statement)
    granted = statement.granted((*STREAM_READS, *TABLE_COPY_ACTIONS, *_OTHER_COPIES))
    if granted and not statement.accepts(TABLE_WIDE):
        problem = f"{_names(granted)}: reaches the items of all tenants, whatever the conditions on keys"
        yield statement.finding(TABLE_WIDE, problem)
    if statement.granted((VECTOR_SEARCH,)):
        yield statement.finding(VECTORS, "SearchVectors returns items of all tenants")
    if any(action.lower().startswith("dax:") for action in statement.statement.actions):
        yield statement.finding(DAX, "DAX answers from its own cache, with its own role")


def _check_administration(statement: LintedStatement) -> Iterator[Finding]:
    """A statement that requires leading keys never grants these actions, since their requests have none."""
    if _requires_leading_keys(statement) or statement.accepts(TABLE_ADMINISTRATION):
        return
    dangerous = TABLE_ADMIN_ACTIONS if statement.granted_in_policy(ITEM_ACTIONS) else (_DELETE_TABLE,)
    if granted := statement.granted(dangerous):
        yield statement.finding(TABLE_ADMINISTRATION, f"{_names(granted)}: changes or deletes the table of all tenants")


def _requires_leading_keys(statement: LintedStatement) -> bool:
    return any(statement.requires_key(key) for key in LEADING)


def _names(actions: tuple[str, ...]) -> str:
    names = [action.partition(":")[2] for action in actions]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _check_variables(statement: LintedStatement, resource: str) -> Iterator[Finding]:
    for variable in find_variables(resource):
        other = variable["key"].lower() != statement.layout.principal_tag.lower()
        if other and _has_actions_of(statement, "dynamodb:"):
            yield statement.finding(OTHER_VARIABLE, f"{variable[0]} in {resource} is not the tenant")


def _accepts_table_wildcard(statement: LintedStatement) -> bool:
    """A Sid can accept a wildcard, but never for item actions: these must name their tables."""
    return statement.accepts(TABLE_WILDCARD) and not statement.granted(KEYED_ITEM_ACTIONS)


def _has_actions_of(statement: LintedStatement, service: str, excluded: frozenset[str] = frozenset()) -> bool:
    actions = [action.lower() for action in statement.statement.actions]
    return any(action == "*" or (action.startswith(service) and action not in excluded) for action in actions)


def _matches_other_tables(resource: str) -> bool:
    """Wildcards are fine in names of indexes and streams, but not in the table's name or in `index` and `stream`."""
    tail = resource.split(":", 5)[-1]
    if not resource.startswith("arn:") or tail.partition("/")[0] != "table":
        return "*" in resource
    return any(wildcard in part for part in tail.split("/")[1:3] for wildcard in "*?")


def _excludes(statement: LintedStatement, key: str, values: set[str]) -> bool:
    """Returns whether a condition on this key admits none of the values."""
    conditions = [one for one in statement.conditions if one.folded_key == key and not one.operator.negated]
    return any(not values & set(one.values) and "*" not in "".join(one.values) for one in conditions)
