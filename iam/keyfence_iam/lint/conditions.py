"""Checks of condition keys, leading keys and tags."""

import re
from collections.abc import Iterable, Iterator

from keyfence_iam.lint.condition_keys import ATTRIBUTES, LEADING, TAG_KEYS, is_known_key, is_multivalued, suggest_key
from keyfence_iam.lint.statement import VARIABLE, Finding, LintedCondition, LintedStatement, LintRule
from keyfence_iam.tenant import (
    CONTROL_PLANE_PREFIX,
    SESSION_TAG,
    SESSION_TAG_VARIABLE,
    TENANT_ID_PATTERN,
    tenant_key_prefix,
)

BLANK_IN_KEY = LintRule("H2", "blank-in-condition-key", "Take the blank out of the key.")
UNKNOWN_KEY = LintRule("H2", "unknown-condition-key", "Spell a key that the service sends with the request.")
SINGLE_VALUED = LintRule(
    "H2", "set-operator-on-single-value", "Use the plain operator: an absent key would pass this one."
)
MISSING_NULL_GUARD = LintRule("H1", "missing-null-guard", 'Add "Null": {"<the key>": "false"} to the same statement.')
ANY_VALUE = LintRule(
    "H6", "for-any-value", "Use ForAllValues and a Null guard: every key of a batch has to be the caller's."
)
ALL_IN_DENY = LintRule(
    "H6", "for-all-values-in-deny", "Use ForAnyValue in a Deny: one matching key is enough to refuse."
)
SET_MISSING = LintRule(
    "H7", "set-operator-missing", "Put ForAllValues: before the operator, and a Null guard beside it."
)
IF_EXISTS_IN_ALLOW = LintRule("H1", "if-exists-in-allow", "Take IfExists away: a request without the key would pass.")
REVERSED_REVOCATION = LintRule(
    "H27", "revocation-turned-around", "Deny with DateLessThan: the sessions of before are to go."
)


def check_conditions(subject: LintedStatement) -> Iterator[Finding]:
    for line in subject.conditions:
        yield from _key(subject, line)
        yield from _quantifier(subject, line)
        yield from _fencing(subject, line)
        yield from _revocation(subject, line)


def _key(subject: LintedStatement, line: LintedCondition) -> Iterator[Finding]:
    if is_known_key(line.key) or line.folded_key.partition(":")[0] in subject.other_services:
        return
    meant = f" (did you mean {suggest_key(line.key)}?)" if suggest_key(line.key) else ""
    rule = BLANK_IN_KEY if any(one.isspace() for one in line.key) else UNKNOWN_KEY
    yield subject.finding(rule, f"no request carries {line.key!r}{meant}: ForAllValues and IfExists hold without it")


def _quantifier(subject: LintedStatement, line: LintedCondition) -> Iterator[Finding]:
    if line.is_null_check or not is_known_key(line.key):
        return
    if line.operator.quantifier and not is_multivalued(line.key):
        yield subject.finding(SINGLE_VALUED, f"{line.operator_name} on {line.key}, which has one value")
    if not line.operator.quantifier and is_multivalued(line.key):
        effect = "the Allow grants nothing" if subject.allows else "the Deny refuses nothing"
        yield subject.finding(
            SET_MISSING, f"{line.operator_name} without a set operator on {line.key} never matches: {effect}"
        )


def _fencing(subject: LintedStatement, line: LintedCondition) -> Iterator[Finding]:
    """What fences must hold for every value, and for requests that have none."""
    if not (line.is_leading_keys or line.folded_key in {ATTRIBUTES, TAG_KEYS}):
        return
    if not subject.allows:
        if line.operator.quantifier == "ForAllValues" and line.folded_key != TAG_KEYS:
            yield subject.finding(ALL_IN_DENY, f"a batch that mixes keys escapes this Deny on {line.key}")
    elif line.operator.quantifier == "ForAnyValue":
        yield subject.finding(ANY_VALUE, f"one matching value of {line.key} lets all the others in")
    elif line.operator.quantifier == "ForAllValues" and not _guarded(subject, line):
        yield subject.finding(
            MISSING_NULL_GUARD, f"requests without {line.key}, such as Scan, pass {line.operator_name}"
        )
    if subject.allows and line.operator.if_exists:
        yield subject.finding(IF_EXISTS_IN_ALLOW, f"requests without {line.key} pass {line.operator_name}")


def _guarded(subject: LintedStatement, line: LintedCondition) -> bool:
    if line.folded_key == TAG_KEYS:
        return subject.requires_key(line.key) or any(
            other.folded_key.startswith("aws:requesttag/") for other in subject.conditions
        )
    return subject.requires_key(line.key) or (
        line.is_leading_keys and any(subject.requires_key(key) for key in LEADING)
    )


def _revocation(subject: LintedStatement, line: LintedCondition) -> Iterator[Finding]:
    if line.folded_key == "aws:tokenissuetime" and line.operator.relation.startswith(">") != subject.allows:
        yield subject.finding(
            REVERSED_REVOCATION, f"{subject.statement.effect} with {line.operator_name} keeps the old sessions alive"
        )


NO_CLOSING_DELIMITER = LintRule(
    "H4", "no-closing-delimiter", "Close the tenant with '#' before the wildcard: TENANT#<tenant>#*."
)
EMPTY_TAG = LintRule(
    "H9", "empty-tag-opens-all", "Close the tenant with '#': an empty tag then opens TENANT##*, which nobody has."
)
INVALID_TENANT = LintRule(
    "H5", "unclean-tenant", "Write one tenant id of a-z, 0-9 and '-', or better ${aws:PrincipalTag/tenant}."
)
LITERAL_WILDCARD = LintRule(
    "H7", "literal-wildcard", "Use ForAllValues:StringLike: '*' is plain text to other operators."
)
NOT_LEADING = LintRule(
    "H12", "tenant-not-leading", "Begin the partition key, of the table and of each index, with the tenant."
)
OTHER_VARIABLE = LintRule(
    "H8", "fence-on-another-variable", f"Fence by {SESSION_TAG_VARIABLE}: the trust policy answers for that tag alone."
)
SHARED_PARTITION = LintRule("H13", "shared-partition", "Name only partitions that begin with the caller's tenant.")

TENANTS = tenant_key_prefix("").removesuffix("#")

TENANT_KEY = f"aws:principaltag/{SESSION_TAG}"

TEXTS = frozenset({"string", "string_like", "string_ignore_case"})


def check_leading_keys(subject: LintedStatement) -> Iterator[Finding]:
    for line in subject.conditions:
        if subject.allows and line.is_leading_keys and line.operator.type in TEXTS and not line.operator.negated:
            for value in line.values:
                yield from _partition(subject, line, value)


def _partition(subject: LintedStatement, line: LintedCondition, value: str) -> Iterator[Finding]:
    if line.operator.type != "string_like" and re.search(r"(?<!\{)[*?]", value):
        yield subject.finding(LITERAL_WILDCARD, f"{line.operator_name} compares {value!r} letter by letter")
    elif found := VARIABLE.search(value):
        yield from _variable(subject, value, found)
    elif value.startswith(TENANTS):
        yield from _literal(subject, value)
    elif not value.startswith(CONTROL_PLANE_PREFIX) or len(line.values) > 1:
        yield subject.finding(SHARED_PARTITION, f"{value!r} is the same partition for every tenant")


def _variable(subject: LintedStatement, value: str, found: re.Match[str]) -> Iterator[Finding]:
    before, after = value[: found.start()], value[found.end() :]
    if found[1].lower() != TENANT_KEY:
        yield subject.finding(OTHER_VARIABLE, f"{found[0]} is not the tenant, and may be of the caller's choosing")
    if before not in {"", TENANTS}:
        yield subject.finding(NOT_LEADING, f"{value!r} has {before!r} before the tenant")
    if after and not after.startswith("#"):
        yield subject.finding(NO_CLOSING_DELIMITER, f"{value!r} lets acme into acmecorp")
    if after.startswith("*"):
        yield subject.finding(EMPTY_TAG, f"{value!r} is {before + after!r} when the tag is empty")


def _literal(subject: LintedStatement, value: str) -> Iterator[Finding]:
    tenant, closed, _ = value.removeprefix(TENANTS).partition("#")
    if not closed and TENANT_ID_PATTERN.fullmatch(tenant.rstrip("*?")) and tenant[-1] in "*?":
        yield subject.finding(NO_CLOSING_DELIMITER, f"{value!r} lets acme into acmecorp")
    elif not TENANT_ID_PATTERN.fullmatch(tenant):
        yield subject.finding(
            INVALID_TENANT, f"{tenant!r} is not one tenant's id: wildcards and variables in it are interpreted"
        )


NEGATED = LintRule("H8", "negated-operator-in-allow", "Say what is allowed with a positive operator, or Deny the rest.")
DEFAULTED = LintRule(
    "H8", "variable-with-default", "Take the default away: a session without the tag must get nothing."
)
SKIPPED_DENY = LintRule("H8", "deny-skipped-without-tag", "Compare the tag by its key, and Deny its absence with Null.")
UNKNOWN_VARIABLE = LintRule("H2", "unknown-variable", "Spell a key that has one value in every request.")
ROLE_TAGGING = LintRule("H10", "role-tagging-granted", "Tag no role: its tags are those of every session without them.")
SPELLING = LintRule("H11", "tag-key-spelling", f"Write `{SESSION_TAG}` everywhere.")
CASE_IGNORED = LintRule("H11", "case-ignored", "Compare keys exactly: tenants are told apart by case-sensitive text.")


def check_tags(subject: LintedStatement) -> Iterator[Finding]:
    for action in subject.granted(("iam:TagRole",)):
        yield subject.finding(ROLE_TAGGING, f"{action} can give every session of a role a tenant of its choice")
    for line in subject.conditions:
        yield from _variables(subject, line.variables)
        yield from _polarity(subject, line)
        yield from _spelling(subject, line)
    named = [found for resource in subject.statement.resources for found in VARIABLE.finditer(resource)]
    yield from _variables(subject, named)
    yield from _spelled(subject, _tags(*(found[1] for found in named)))


def _variables(subject: LintedStatement, variables: Iterable[re.Match[str]]) -> Iterator[Finding]:
    for variable in variables:
        if not is_known_key(variable[1]):
            yield subject.finding(UNKNOWN_VARIABLE, f"{variable[0]} has no value in any request")
        elif variable[2] and subject.allows:
            yield subject.finding(DEFAULTED, f"{variable[0]} stands for the default when the tag is missing")


def _polarity(subject: LintedStatement, line: LintedCondition) -> Iterator[Finding]:
    fencing = line.is_leading_keys or bool(line.variables) or line.folded_key.startswith("aws:principaltag/")
    if subject.allows and line.operator.negated and fencing:
        yield subject.finding(NEGATED, f"{line.operator_name} on {line.key} holds when the key or the tag is missing")
    if not subject.allows and line.variables and not line.operator.negated:
        yield subject.finding(
            SKIPPED_DENY, f"without {line.variables[0][0]} the line does not match and nothing is denied"
        )


def _spelling(subject: LintedStatement, line: LintedCondition) -> Iterator[Finding]:
    if line.is_leading_keys and line.operator.type == "string_ignore_case":
        yield subject.finding(CASE_IGNORED, f"{line.operator_name} on {line.key}")
    tags = _tags(line.key, *(found[1] for found in line.variables))
    if line.folded_key == TAG_KEYS and not line.is_null_check:
        tags += line.values
    yield from _spelled(subject, tags)


def _tags(*keys: str) -> list[str]:
    return [key.partition("/")[2] for key in keys if "tag/" in key.lower()]


def _spelled(subject: LintedStatement, tags: list[str]) -> Iterator[Finding]:
    for tag in sorted({tag for tag in tags if tag.lower() == SESSION_TAG and tag != SESSION_TAG}):
        yield subject.finding(
            SPELLING, f"{tag} is the same tag as {SESSION_TAG} to IAM, but not in aws:TagKeys' values"
        )
