"""Checks of actions, resources and attribute lists."""

from collections.abc import Iterator

from keyfence_iam.lint.condition_keys import ATTRIBUTES, LEADING
from keyfence_iam.lint.conditions import OTHER_VARIABLE, TENANT_KEY
from keyfence_iam.lint.statement import VARIABLE, Finding, LintedStatement, LintRule
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

WILDCARD = LintRule(
    "H1", "wildcard-action", "List the actions by name: a wildcard also grants what AWS adds next year."
)
NOT_ACTION = LintRule("H1", "not-action-in-allow", "List what is allowed with Action.")
SCAN_GRANTED = LintRule("H1", "scan-granted", "Take Scan out: it returns every tenant's items.")
PARTIQL_OPEN = LintRule("H1", "partiql-granted", "Take PartiQL out, or demand leading keys with a Null guard.")
NO_LEADING_KEYS = LintRule(
    "H14", "unfenced-data-call", "Grant it only with ForAllValues and Null conditions on dynamodb:LeadingKeys."
)
TABLE_WIDE = LintRule("H19", "table-wide-call", "Keep it for a system role of its own.")
TABLE_ADMINISTRATION = LintRule(
    "H19", "table-administration", "Keep it for a role that reads and writes no item; grant DeleteTable never."
)
DAX = LintRule("H31", "dax-granted", "Go without DAX: it asks DynamoDB as itself, and no caller is fenced.")
VECTORS = LintRule("H32", "vector-search-granted", "Never grant it: it has no condition key that could fence it.")

DELETE_TABLE = "dynamodb:DeleteTable"
_OTHER_COPIES = ("dynamodb:PutResourcePolicy", "dynamodb:CreateGlobalTable", "dynamodb:CreateTableReplica")


def check_actions(subject: LintedStatement) -> Iterator[Finding]:
    if subject.allows:
        yield from _wildcards(subject)
        yield from _items(subject)
        yield from _tables(subject)


def _wildcards(subject: LintedStatement) -> Iterator[Finding]:
    for action in subject.statement.actions:
        if "*" in action or "?" in action:
            yield subject.finding(WILDCARD, f"{action} grants more than it names")
    if subject.statement.not_actions:
        yield subject.finding(NOT_ACTION, "everything but the listed actions is granted, in every service")


def _items(subject: LintedStatement) -> Iterator[Finding]:
    if subject.granted((SCAN,)) and not subject.accepts(SCAN_GRANTED):
        yield subject.finding(SCAN_GRANTED, "Scan has no leading keys: no condition on them narrows it")
    demanded = any(subject.requires_key(key) for key in LEADING)
    if (found := subject.granted(PARTIQL)) and not demanded:
        yield subject.finding(
            PARTIQL_OPEN, f"{_listed(found)}: a statement without a key condition reads the whole table"
        )
    if (found := subject.granted((*KEYED_ITEM_ACTIONS, *PARTIQL))) and not _fenced(subject):
        yield subject.finding(NO_LEADING_KEYS, f"{_listed(found)} on every partition")


def _fenced(subject: LintedStatement) -> bool:
    return any(line.is_leading_keys and not line.is_null_check for line in subject.conditions)


def _tables(subject: LintedStatement) -> Iterator[Finding]:
    yield from _administration(subject)
    found = subject.granted((*STREAM_READS, *TABLE_COPY_ACTIONS, *_OTHER_COPIES))
    if found and not subject.accepts(TABLE_WIDE):
        yield subject.finding(TABLE_WIDE, f"{_listed(found)}: items of all tenants, whatever the conditions on keys")
    if subject.granted((VECTOR_SEARCH,)):
        yield subject.finding(VECTORS, "SearchVectors answers with items of all tenants")
    if any(action.lower().startswith("dax:") for action in subject.statement.actions):
        yield subject.finding(DAX, "DAX answers from its own cache with its own role")


def _administration(subject: LintedStatement) -> Iterator[Finding]:
    """A statement that demands leading keys grants none of it, whatever it lists: these calls have none."""
    if any(subject.requires_key(key) for key in LEADING) or subject.accepts(TABLE_ADMINISTRATION):
        return
    wanted = TABLE_ADMIN_ACTIONS if subject.granted_in_policy(ITEM_ACTIONS) else (DELETE_TABLE,)
    if found := subject.granted(wanted):
        yield subject.finding(TABLE_ADMINISTRATION, f"{_listed(found)}: the table of all tenants, changed or gone")


def _listed(actions: tuple[str, ...]) -> str:
    names = [action.partition(":")[2] for action in actions]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


TABLE_WILDCARD = LintRule("H29", "table-wildcard", "Write table/NAME and table/NAME/index/INDEX, each for itself.")
ROLE_WILDCARD = LintRule("H29", "role-wildcard", "List the roles that may be assumed.")
NOT_RESOURCE = LintRule("H29", "not-resource-in-allow", "List what is allowed with Resource.")

WITHOUT_RESOURCE = frozenset(
    f"dynamodb:{name}".lower()
    for name in (
        "ListStreams", "ListTables", "ListBackups", "ListExports", "ListImports", "ListGlobalTables",
        "DescribeLimits", "DescribeEndpoints", "DescribeReservedCapacity", "DescribeReservedCapacityOfferings",
    )
)  # fmt: skip
"""What AWS authorises on `*` alone."""


def check_resources(subject: LintedStatement) -> Iterator[Finding]:
    if not subject.allows or subject.kind != "identity":
        return
    if subject.statement.not_resources:
        yield subject.finding(NOT_RESOURCE, "everything but the listed resources is granted")
    for resource in subject.statement.resources:
        yield from _variables(subject, resource)
        if _of(subject, "dynamodb:", WITHOUT_RESOURCE) and _wide_table(resource) and not _accepted(subject):
            yield subject.finding(
                TABLE_WILDCARD, f"{resource}: '*' crosses '/' and takes in indexes, streams, other tables"
            )
        if _of(subject, "sts:") and _wide_role(resource):
            yield subject.finding(ROLE_WILDCARD, f"{resource} is more roles than one can name")


def _variables(subject: LintedStatement, resource: str) -> Iterator[Finding]:
    for found in VARIABLE.finditer(resource):
        if _of(subject, "dynamodb:") and found[1].lower() != TENANT_KEY:
            yield subject.finding(OTHER_VARIABLE, f"{found[0]} in {resource} is not the tenant")


def _accepted(subject: LintedStatement) -> bool:
    """Never for item calls: these are fenced by tables that are named."""
    return subject.accepts(TABLE_WILDCARD) and not subject.granted(KEYED_ITEM_ACTIONS)


def _of(subject: LintedStatement, service: str, but: frozenset[str] = frozenset()) -> bool:
    actions = [action.lower() for action in subject.statement.actions]
    return any(action == "*" or (action.startswith(service) and action not in but) for action in actions)


def _wide_table(resource: str) -> bool:
    """Index and stream names may be open; the table's name and what kind of thing it is may not."""
    tail = resource.split(":", 5)[-1]
    if not resource.startswith("arn:") or tail.partition("/")[0] != "table":
        return "*" in resource
    return any(wild in part for part in tail.split("/")[1:3] for wild in "*?")


def _wide_role(resource: str) -> bool:
    return "*" in resource or "?" in resource


RETURNED = LintRule(
    "H15", "return-values-open", "Add StringEqualsIfExists dynamodb:ReturnValues [NONE, UPDATED_OLD, UPDATED_NEW]."
)
UNPROJECTED = LintRule("H16", "projection-not-demanded", "Add StringEquals dynamodb:Select SPECIFIC_ATTRIBUTES.")
WHOLE_ITEM = LintRule("H17", "whole-item-replaced", "Grant UpdateItem alone where attributes are listed.")

_RETURNING = ("dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem", "dynamodb:ConditionCheckItem")
_REPLACING = ("dynamodb:PutItem", "dynamodb:DeleteItem", "dynamodb:BatchWriteItem")


def check_attributes(subject: LintedStatement) -> Iterator[Finding]:
    if not any(line.folded_key == ATTRIBUTES and not line.is_null_check for line in subject.conditions):
        return
    if subject.granted(_RETURNING) and not _narrows(subject, "dynamodb:returnvalues", {"ALL_OLD", "ALL_NEW"}):
        yield subject.finding(RETURNED, "ReturnValues can ask for the whole item")
    everything = {"ALL_ATTRIBUTES", "ALL_PROJECTED_ATTRIBUTES"}
    if subject.granted((*READS, SCAN)) and not _narrows(subject, "dynamodb:select", everything):
        yield subject.finding(UNPROJECTED, "a read without a projection returns every attribute")
    if found := subject.granted(_REPLACING):
        yield subject.finding(WHOLE_ITEM, f"{', '.join(found)}: the attributes that are not named are lost")


def _narrows(subject: LintedStatement, key: str, wide: set[str]) -> bool:
    lines = [line for line in subject.conditions if line.folded_key == key and not line.operator.negated]
    return any(not wide & set(line.values) and "*" not in "".join(line.values) for line in lines)
