"""Holes of the partitions that a fence lets in: neighbours, everybody, or what all tenants share."""

import re
from collections.abc import Iterator

from keyfence_iam.boundary import CONTROL, TENANT_ID, tenant_boundary
from keyfence_iam.lint.finding import Finding, Rule
from keyfence_iam.lint.line import VARIABLE, Line
from keyfence_iam.lint.subject import Subject
from keyfence_iam.policies.tag import TENANT_OF_SESSION, TENANT_TAG

OPEN_END = Rule("H4", "no-closing-delimiter", "Close the tenant with '#' before the wildcard: TENANT#<tenant>#*.")
EMPTY_TAG = Rule(
    "H9", "empty-tag-opens-all", "Close the tenant with '#': an empty tag then opens TENANT##*, which nobody has."
)
UNCLEAN = Rule("H5", "unclean-tenant", "Write one tenant id of a-z, 0-9 and '-', or better ${aws:PrincipalTag/tenant}.")
LITERAL_WILDCARD = Rule("H7", "literal-wildcard", "Use ForAllValues:StringLike: '*' is plain text to other operators.")
NOT_LEADING = Rule(
    "H12", "tenant-not-leading", "Begin the partition key, of the table and of each index, with the tenant."
)
OTHER_VARIABLE = Rule(
    "H8", "fence-on-another-variable", f"Fence by {TENANT_OF_SESSION}: the trust policy answers for that tag alone."
)
SHARED = Rule("H13", "shared-partition", "Name only partitions that begin with the caller's tenant.")

TENANTS = tenant_boundary("").removesuffix("#")

TENANT_KEY = f"aws:principaltag/{TENANT_TAG}"

TEXTS = frozenset({"text", "like", "folded"})


def check(subject: Subject) -> Iterator[Finding]:
    for line in subject.lines:
        if subject.allows and line.leading and line.operator.family in TEXTS and not line.operator.negated:
            for value in line.values:
                yield from _partition(subject, line, value)


def _partition(subject: Subject, line: Line, value: str) -> Iterator[Finding]:
    if line.operator.family != "like" and re.search(r"(?<!\{)[*?]", value):
        yield subject.finding(LITERAL_WILDCARD, f"{line.written} compares {value!r} letter by letter")
    elif found := VARIABLE.search(value):
        yield from _variable(subject, value, found)
    elif value.startswith(TENANTS):
        yield from _literal(subject, value)
    elif not value.startswith(CONTROL) or len(line.values) > 1:
        yield subject.finding(SHARED, f"{value!r} is the same partition for every tenant")


def _variable(subject: Subject, value: str, found: re.Match[str]) -> Iterator[Finding]:
    before, after = value[: found.start()], value[found.end() :]
    if found[1].lower() != TENANT_KEY:
        yield subject.finding(OTHER_VARIABLE, f"{found[0]} is not the tenant, and may be of the caller's choosing")
    if before not in {"", TENANTS}:
        yield subject.finding(NOT_LEADING, f"{value!r} has {before!r} before the tenant")
    if after and not after.startswith("#"):
        yield subject.finding(OPEN_END, f"{value!r} lets acme into acmecorp")
    if after.startswith("*"):
        yield subject.finding(EMPTY_TAG, f"{value!r} is {before + after!r} when the tag is empty")


def _literal(subject: Subject, value: str) -> Iterator[Finding]:
    tenant, closed, _ = value.removeprefix(TENANTS).partition("#")
    if not closed and TENANT_ID.fullmatch(tenant.rstrip("*?")) and tenant[-1] in "*?":
        yield subject.finding(OPEN_END, f"{value!r} lets acme into acmecorp")
    elif not TENANT_ID.fullmatch(tenant):
        yield subject.finding(
            UNCLEAN, f"{tenant!r} is not one tenant's id: wildcards and variables in it are interpreted"
        )
