"""Holes of resources: ARNs that reach further than they look."""

from collections.abc import Iterator

from keyfence_iam.lint.finding import Finding, Rule
from keyfence_iam.lint.line import VARIABLE
from keyfence_iam.lint.partitions import OTHER_VARIABLE, TENANT_KEY
from keyfence_iam.lint.subject import Subject
from keyfence_iam.policies.actions import KEYED

TABLE_WILDCARD = Rule("H29", "table-wildcard", "Write table/NAME and table/NAME/index/INDEX, each for itself.")
ROLE_WILDCARD = Rule("H29", "role-wildcard", "List the roles that may be assumed.")
NOT_RESOURCE = Rule("H29", "not-resource-in-allow", "List what is allowed with Resource.")

WITHOUT_RESOURCE = frozenset(
    f"dynamodb:{name}".lower()
    for name in (
        "ListStreams", "ListTables", "ListBackups", "ListExports", "ListImports", "ListGlobalTables",
        "DescribeLimits", "DescribeEndpoints", "DescribeReservedCapacity", "DescribeReservedCapacityOfferings",
    )
)  # fmt: skip
"""What AWS authorises on `*` alone."""


def check(subject: Subject) -> Iterator[Finding]:
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


def _variables(subject: Subject, resource: str) -> Iterator[Finding]:
    for found in VARIABLE.finditer(resource):
        if _of(subject, "dynamodb:") and found[1].lower() != TENANT_KEY:
            yield subject.finding(OTHER_VARIABLE, f"{found[0]} in {resource} is not the tenant")


def _accepted(subject: Subject) -> bool:
    """Never for item calls: these are fenced by tables that are named."""
    return subject.accepts(TABLE_WILDCARD) and not subject.granted(KEYED)


def _of(subject: Subject, service: str, but: frozenset[str] = frozenset()) -> bool:
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
