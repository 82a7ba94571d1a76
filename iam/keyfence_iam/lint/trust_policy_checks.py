"""Checks of trust and resource policies: who gets access, and with which session tag."""

from collections.abc import Iterator

from keyfence_iam.lint.known_condition_keys import TAG_KEYS, TRANSITIVE
from keyfence_iam.lint.linted_statement import Finding, LintedCondition, LintedStatement, LintRule
from keyfence_iam.policy.actions import ASSUME_ROLE, TAG_SESSION

TAG_NOT_REQUIRED = LintRule(
    "H8",
    "tag-not-required",
    'Add "StringLike": {"<request tag>": "?*"}, or forbid tags: "Null": {"aws:TagKeys": "true"}.',
)
UNTAGGABLE = LintRule(
    "H8", "tag-session-missing", "Allow sts:TagSession together with sts:AssumeRole, under the same conditions."
)
OTHER_TAGS = LintRule("H8", "other-tags-accepted", 'Add "ForAllValues:StringEquals": {"aws:TagKeys": "<tag>"}.')
EMPTY_ACCEPTED = LintRule("H9", "empty-tag-accepted", 'Write "StringLike": {"<request tag>": "?*"}.')
INHERITED = LintRule("H10", "transitive-tags", 'Add "Null": {"sts:TransitiveTagKeys": "true"}.')
ANY_PRINCIPAL = LintRule("H22", "any-principal-trusted", "Name the roles that get access.")
NOT_PRINCIPAL = LintRule("H22", "not-principal-in-allow", "Name with Principal who gets access.")
SESSION_NAMED = LintRule(
    "H22", "session-named", "Name the role: a grant to a session is not limited by its session policy."
)
CONDITIONAL = LintRule(
    "H23", "conditional-allow", "Use a Deny: an Allow in a resource policy does not limit what identity policies allow."
)


def check(statement: LintedStatement) -> Iterator[Finding]:
    if statement.allows:
        yield from _check_principals(statement)
        yield from _check_tags(statement)
        yield from _check_tag_value(statement)


def _check_principals(statement: LintedStatement) -> Iterator[Finding]:
    names = [name for listed in (statement.statement.principals or {}).values() for name in listed]
    limited = any(one.folded_key.startswith(("aws:principal", "aws:source")) for one in statement.conditions)
    if "*" in names and not limited:
        yield statement.finding(ANY_PRINCIPAL, "Principal * is everybody, in every account")
    if statement.statement.not_principals:
        yield statement.finding(NOT_PRINCIPAL, "everybody except the listed principals gets access")
    for name in names:
        if ":assumed-role/" in name or ":federated-user/" in name:
            problem = f"{name} is one session: neither its boundary nor its session policy limits this grant"
            yield statement.finding(SESSION_NAMED, problem)
    if statement.kind == "resource" and statement.conditions:
        yield statement.finding(CONDITIONAL, "an Allow with conditions limits nobody whom an identity policy allows")


def _check_tags(statement: LintedStatement) -> Iterator[Finding]:
    if not statement.granted((ASSUME_ROLE, TAG_SESSION)) or statement.forbids_key(TAG_KEYS):
        return
    tag = statement.layout.session_tag
    callers = statement.kind == "trust" and any(kind != "Service" for kind in statement.statement.principals or {})
    tagging = bool(statement.granted((TAG_SESSION,)))
    required = statement.requires_key(statement.layout.request_tag)
    if (callers or tagging) and not required:
        yield statement.finding(TAG_NOT_REQUIRED, f"a session without the tag {tag} is possible")
    if required and not statement.granted_in_policy((TAG_SESSION,)):
        yield statement.finding(UNTAGGABLE, "a tag is required, but no statement allows to pass one")
    if tagging:
        yield from _check_other_tags(statement)


def _check_other_tags(statement: LintedStatement) -> Iterator[Finding]:
    tag = statement.layout.session_tag
    if not any(_accepts_only(condition, tag) for condition in statement.conditions):
        yield statement.finding(OTHER_TAGS, f"tags other than {tag} are accepted too")
    if not statement.forbids_key(TRANSITIVE):
        yield statement.finding(INHERITED, "the caller can pass the tag on to every role that is assumed next")


def _accepts_only(condition: LintedCondition, tag: str) -> bool:
    operator = condition.operator
    exact = operator.type in {"string", "string_like"} and not operator.negated
    every = condition.folded_key == TAG_KEYS and operator.quantifier == "ForAllValues"
    return every and exact and set(condition.values) <= {tag}


def _check_tag_value(statement: LintedStatement) -> Iterator[Finding]:
    key = statement.layout.request_tag
    conditions = [one for one in statement.conditions if one.folded_key == key.lower() and not one.forbids_key(key)]
    if conditions and all(_accepts_empty(one) for one in conditions):
        yield statement.finding(EMPTY_ACCEPTED, f"a tag {statement.layout.session_tag} without a value is accepted")


def _accepts_empty(condition: LintedCondition) -> bool:
    operator = condition.operator
    loose = condition.is_null_check or operator.negated or operator.if_exists
    return loose or any(not value.strip("*") for value in condition.values)
