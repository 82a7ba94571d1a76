"""Holes of trust and resource policies: who is let in, and with which tag."""

from collections.abc import Iterator

from keyfence_iam.lint.condition_keys import TAG_KEYS, TRANSITIVE
from keyfence_iam.lint.statement import Finding, LintedCondition, LintedStatement, LintRule
from keyfence_iam.policy.actions import ASSUME_ROLE, TAG_SESSION
from keyfence_iam.tenant import SESSION_TAG

TAG = f"aws:RequestTag/{SESSION_TAG}"

TAG_NOT_REQUIRED = LintRule(
    "H8", "tag-not-demanded", f'Add "StringLike": {{"{TAG}": "?*"}}, or refuse tags: "Null": {{"aws:TagKeys": "true"}}.'
)
UNTAGGABLE = LintRule(
    "H8", "tag-session-missing", "Allow sts:TagSession beside sts:AssumeRole, under the same conditions."
)
OTHER_TAGS = LintRule(
    "H8", "other-tags-accepted", f'Add "ForAllValues:StringEquals": {{"aws:TagKeys": "{SESSION_TAG}"}}.'
)
EMPTY_ACCEPTED = LintRule("H9", "empty-tag-accepted", f'Write "StringLike": {{"{TAG}": "?*"}}.')
INHERITED = LintRule("H10", "transitive-tags", 'Add "Null": {"sts:TransitiveTagKeys": "true"}.')
ANY_PRINCIPAL = LintRule("H22", "everyone-trusted", "Name the roles that are let in.")
NOT_PRINCIPAL = LintRule("H22", "not-principal-in-allow", "Name those who are let in with Principal.")
SESSION_NAMED = LintRule(
    "H22", "session-named", "Name the role: what is granted to a session escapes its session policy."
)
CONDITIONAL = LintRule(
    "H23", "conditional-allow", "Use a Deny: an Allow here does not narrow what identity policies allow."
)


def check(subject: LintedStatement) -> Iterator[Finding]:
    if subject.allows:
        yield from _people(subject)
        yield from _tags(subject)
        yield from _values(subject)


def _people(subject: LintedStatement) -> Iterator[Finding]:
    names = [name for listed in (subject.statement.principals or {}).values() for name in listed]
    if "*" in names and not any(
        line.folded_key.startswith(("aws:principal", "aws:source")) for line in subject.conditions
    ):
        yield subject.finding(ANY_PRINCIPAL, "Principal * is everybody, in every account")
    if subject.statement.not_principals:
        yield subject.finding(NOT_PRINCIPAL, "everybody but the listed ones is let in")
    for name in names:
        if ":assumed-role/" in name or ":federated-user/" in name:
            yield subject.finding(
                SESSION_NAMED, f"{name} is one session: neither boundary nor session policy limits it"
            )
    if subject.kind == "resource" and subject.conditions:
        yield subject.finding(CONDITIONAL, "an Allow with conditions restricts nobody who is allowed elsewhere")


def _tags(subject: LintedStatement) -> Iterator[Finding]:
    if not subject.granted((ASSUME_ROLE, TAG_SESSION)) or subject.forbids_key(TAG_KEYS):
        return
    callers = subject.kind == "trust" and any(kind != "Service" for kind in subject.statement.principals or {})
    tagging = bool(subject.granted((TAG_SESSION,)))
    demanded = subject.requires_key(TAG)
    if (callers or tagging) and not demanded:
        yield subject.finding(TAG_NOT_REQUIRED, f"the session may come without the tag {SESSION_TAG}")
    if demanded and not subject.granted_in_policy((TAG_SESSION,)):
        yield subject.finding(UNTAGGABLE, "a tag is demanded, and no statement lets one be passed")
    if tagging:
        yield from _further_tags(subject)


def _further_tags(subject: LintedStatement) -> Iterator[Finding]:
    if not any(_takes_the_tenant_alone(line) for line in subject.conditions):
        yield subject.finding(OTHER_TAGS, f"tags besides {SESSION_TAG} are accepted too")
    if not subject.forbids_key(TRANSITIVE):
        yield subject.finding(INHERITED, "the tag can be made to follow into every role that is assumed next")


def _takes_the_tenant_alone(line: LintedCondition) -> bool:
    exactly = line.operator.type in {"string", "string_like"} and not line.operator.negated
    every = line.folded_key == TAG_KEYS and line.operator.quantifier == "ForAllValues"
    return every and exactly and set(line.values) <= {SESSION_TAG}


def _values(subject: LintedStatement) -> Iterator[Finding]:
    lines = [line for line in subject.conditions if line.folded_key == TAG.lower() and not line.forbids_key(TAG)]
    if lines and all(_takes_empty(line) for line in lines):
        yield subject.finding(EMPTY_ACCEPTED, f"a tag {SESSION_TAG} without a value is accepted")


def _takes_empty(line: LintedCondition) -> bool:
    loose = line.is_null_check or line.operator.negated or line.operator.if_exists
    return loose or any(not value.strip("*") for value in line.values)
