"""Checks of condition keys, leading keys and tags."""

import re
from collections.abc import Iterable, Iterator

from keyfence_iam.lint.condition_keys import ATTRIBUTES, LEADING, TAG_KEYS, closest, known, many_valued
from keyfence_iam.lint.statement import VARIABLE, Finding, Line, Rule, Subject
from keyfence_iam.tenant import CONTROL, TENANT_ID, TENANT_OF_SESSION, TENANT_TAG, tenant_boundary

BLANK_IN_KEY = Rule("H2", "blank-in-condition-key", "Take the blank out of the key.")
UNKNOWN_KEY = Rule("H2", "unknown-condition-key", "Spell a key that the service sends with the request.")
SINGLE_VALUED = Rule("H2", "set-operator-on-single-value", "Use the plain operator: an absent key would pass this one.")
VACUOUS = Rule("H1", "missing-null-guard", 'Add "Null": {"<the key>": "false"} to the same statement.')
ANY_VALUE = Rule(
    "H6", "for-any-value", "Use ForAllValues and a Null guard: every key of a batch has to be the caller's."
)
ALL_IN_DENY = Rule("H6", "for-all-values-in-deny", "Use ForAnyValue in a Deny: one matching key is enough to refuse.")
SET_MISSING = Rule("H7", "set-operator-missing", "Put ForAllValues: before the operator, and a Null guard beside it.")
LENIENT = Rule("H1", "if-exists-in-allow", "Take IfExists away: a request without the key would pass.")
TURNED_AROUND = Rule("H27", "revocation-turned-around", "Deny with DateLessThan: the sessions of before are to go.")


def check_conditions(subject: Subject) -> Iterator[Finding]:
    for line in subject.lines:
        yield from _key(subject, line)
        yield from _quantifier(subject, line)
        yield from _fencing(subject, line)
        yield from _revocation(subject, line)


def _key(subject: Subject, line: Line) -> Iterator[Finding]:
    if known(line.key) or line.name.partition(":")[0] in subject.other_services:
        return
    meant = f" (did you mean {closest(line.key)}?)" if closest(line.key) else ""
    rule = BLANK_IN_KEY if any(one.isspace() for one in line.key) else UNKNOWN_KEY
    yield subject.finding(rule, f"no request carries {line.key!r}{meant}: ForAllValues and IfExists hold without it")


def _quantifier(subject: Subject, line: Line) -> Iterator[Finding]:
    if line.only_presence or not known(line.key):
        return
    if line.operator.quantifier and not many_valued(line.key):
        yield subject.finding(SINGLE_VALUED, f"{line.written} on {line.key}, which has one value")
    if not line.operator.quantifier and many_valued(line.key):
        effect = "the Allow grants nothing" if subject.allows else "the Deny refuses nothing"
        yield subject.finding(
            SET_MISSING, f"{line.written} without a set operator on {line.key} never matches: {effect}"
        )


def _fencing(subject: Subject, line: Line) -> Iterator[Finding]:
    """What fences must hold for every value, and for requests that have none."""
    if not (line.leading or line.name in {ATTRIBUTES, TAG_KEYS}):
        return
    if not subject.allows:
        if line.operator.quantifier == "ForAllValues" and line.name != TAG_KEYS:
            yield subject.finding(ALL_IN_DENY, f"a batch that mixes keys escapes this Deny on {line.key}")
    elif line.operator.quantifier == "ForAnyValue":
        yield subject.finding(ANY_VALUE, f"one matching value of {line.key} lets all the others in")
    elif line.operator.quantifier == "ForAllValues" and not _guarded(subject, line):
        yield subject.finding(VACUOUS, f"requests without {line.key}, such as Scan, pass {line.written}")
    if subject.allows and line.operator.if_exists:
        yield subject.finding(LENIENT, f"requests without {line.key} pass {line.written}")


def _guarded(subject: Subject, line: Line) -> bool:
    if line.name == TAG_KEYS:
        return subject.demands(line.key) or any(other.name.startswith("aws:requesttag/") for other in subject.lines)
    return subject.demands(line.key) or (line.leading and any(subject.demands(key) for key in LEADING))


def _revocation(subject: Subject, line: Line) -> Iterator[Finding]:
    if line.name == "aws:tokenissuetime" and line.operator.relation.startswith(("more", "at least")) != subject.allows:
        yield subject.finding(
            TURNED_AROUND, f"{subject.statement.effect} with {line.written} keeps the old sessions alive"
        )


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


def check_leading_keys(subject: Subject) -> Iterator[Finding]:
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


NEGATED = Rule("H8", "negated-operator-in-allow", "Say what is allowed with a positive operator, or Deny the rest.")
DEFAULTED = Rule("H8", "variable-with-default", "Take the default away: a session without the tag must get nothing.")
SKIPPED_DENY = Rule("H8", "deny-skipped-without-tag", "Compare the tag by its key, and Deny its absence with Null.")
UNKNOWN_VARIABLE = Rule("H2", "unknown-variable", "Spell a key that has one value in every request.")
ROLE_TAGGING = Rule("H10", "role-tagging-granted", "Tag no role: its tags are those of every session without them.")
SPELLING = Rule("H11", "tag-key-spelling", f"Write `{TENANT_TAG}` everywhere.")
CASE_IGNORED = Rule("H11", "case-ignored", "Compare keys exactly: tenants are told apart by case-sensitive text.")


def check_tags(subject: Subject) -> Iterator[Finding]:
    for action in subject.granted(("iam:TagRole",)):
        yield subject.finding(ROLE_TAGGING, f"{action} can give every session of a role a tenant of its choice")
    for line in subject.lines:
        yield from _variables(subject, line.variables)
        yield from _polarity(subject, line)
        yield from _spelling(subject, line)
    named = [found for resource in subject.statement.resources for found in VARIABLE.finditer(resource)]
    yield from _variables(subject, named)
    yield from _spelled(subject, _tags(*(found[1] for found in named)))


def _variables(subject: Subject, variables: Iterable[re.Match[str]]) -> Iterator[Finding]:
    for variable in variables:
        if not known(variable[1]):
            yield subject.finding(UNKNOWN_VARIABLE, f"{variable[0]} has no value in any request")
        elif variable[2] and subject.allows:
            yield subject.finding(DEFAULTED, f"{variable[0]} stands for the default when the tag is missing")


def _polarity(subject: Subject, line: Line) -> Iterator[Finding]:
    fencing = line.leading or bool(line.variables) or line.name.startswith("aws:principaltag/")
    if subject.allows and line.operator.negated and fencing:
        yield subject.finding(NEGATED, f"{line.written} on {line.key} holds when the key or the tag is missing")
    if not subject.allows and line.variables and not line.operator.negated:
        yield subject.finding(
            SKIPPED_DENY, f"without {line.variables[0][0]} the line does not match and nothing is denied"
        )


def _spelling(subject: Subject, line: Line) -> Iterator[Finding]:
    if line.leading and line.operator.family == "folded":
        yield subject.finding(CASE_IGNORED, f"{line.written} on {line.key}")
    tags = _tags(line.key, *(found[1] for found in line.variables))
    if line.name == TAG_KEYS and not line.only_presence:
        tags += line.values
    yield from _spelled(subject, tags)


def _tags(*keys: str) -> list[str]:
    return [key.partition("/")[2] for key in keys if "tag/" in key.lower()]


def _spelled(subject: Subject, tags: list[str]) -> Iterator[Finding]:
    for tag in sorted({tag for tag in tags if tag.lower() == TENANT_TAG and tag != TENANT_TAG}):
        yield subject.finding(SPELLING, f"{tag} is the same tag as {TENANT_TAG} to IAM, but not in aws:TagKeys' values")
