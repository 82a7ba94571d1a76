"""Checks of trust and resource policies: who gets access, and with which session tag."""

from collections.abc import Iterator

from keyfence_iam.lint.findings import Finding, LintRule
from keyfence_iam.lint.known_condition_keys import TAG_KEYS, TRANSITIVE_TAG_KEYS
from keyfence_iam.lint.linted_statement import LintedCondition, LintedStatement
from keyfence_iam.policy.actions import ASSUME_ROLE, TAG_SESSION

TAG_NOT_REQUIRED = LintRule(
    "H8",
    "tag-not-required",
    'Add "StringLike": {"<request tag>": "?*"}, or forbid tags: "Null": {"aws:TagKeys": "true"}.',
)
TAG_SESSION_MISSING = LintRule(
    "H8", "tag-session-missing", "Allow sts:TagSession together with sts:AssumeRole, under the same conditions."
)
OTHER_TAGS_ACCEPTED = LintRule(
    "H8", "other-tags-accepted", 'Add "ForAllValues:StringEquals": {"aws:TagKeys": "<tag>"}.'
)
EMPTY_TAG_ACCEPTED = LintRule("H9", "empty-tag-accepted", 'Write "StringLike": {"<request tag>": "?*"}.')
TRANSITIVE_TAGS = LintRule("H10", "transitive-tags", 'Add "Null": {"sts:TransitiveTagKeys": "true"}.')
ANY_PRINCIPAL_TRUSTED = LintRule("H22", "any-principal-trusted", "Name the roles that get access.")
NOT_PRINCIPAL_IN_ALLOW = LintRule("H22", "not-principal-in-allow", "Use Principal, and list the roles that get access.")
SESSION_AS_PRINCIPAL = LintRule(
    "H22",
    "session-as-principal",
    "Name the role of the session: a session policy does not limit what is granted to the session itself.",
)
CONDITIONAL_ALLOW = LintRule(
    "H23", "conditional-allow", "Use a Deny: an Allow in a resource policy does not limit what identity policies allow."
)


def check(statement: LintedStatement) -> Iterator[Finding]:
    """Yields the findings of an Allow in any kind of policy: an identity policy can allow sts:AssumeRole too."""
    if statement.is_allow:
        yield from _check_principals(statement)
        yield from _check_tags(statement)
        yield from _check_tag_value(statement)


def _check_principals(statement: LintedStatement) -> Iterator[Finding]:
    names_by_type = statement.statement.principals or {}
    names = [name for names_of_type in names_by_type.values() for name in names_of_type]
    is_limited = any(
        condition.lowercase_key.startswith(("aws:principal", "aws:source")) for condition in statement.conditions
    )
    if "*" in names and not is_limited:
        yield statement.finding(ANY_PRINCIPAL_TRUSTED, "Principal * is everybody, in every account")
    if statement.statement.not_principals:
        yield statement.finding(NOT_PRINCIPAL_IN_ALLOW, "everybody except the listed principals gets access")
    for name in names:
        if ":assumed-role/" in name or ":federated-user/" in name:
            problem = f"{name} is one session: neither its boundary nor its session policy limits this grant"
            yield statement.finding(SESSION_AS_PRINCIPAL, problem)
    if statement.policy_kind == "resource" and statement.conditions:
        yield statement.finding(
            CONDITIONAL_ALLOW, "the conditions of this Allow do not limit callers that an identity policy allows"
        )


def _check_tags(statement: LintedStatement) -> Iterator[Finding]:
    if not statement.allowed_actions((ASSUME_ROLE, TAG_SESSION)) or statement.forbids_key(TAG_KEYS):
        return
    tag = statement.layout.session_tag
    principal_types = statement.statement.principals or {}
    trusts_roles_or_users = statement.policy_kind == "trust" and any(
        principal_type != "Service" for principal_type in principal_types
    )
    allows_tagging = bool(statement.allowed_actions((TAG_SESSION,)))
    requires_tag = statement.requires_key(statement.layout.request_tag)
    if (trusts_roles_or_users or allows_tagging) and not requires_tag:
        yield statement.finding(TAG_NOT_REQUIRED, f"a session without the tag {tag} is possible")
    if requires_tag and not statement.policy_allows_any((TAG_SESSION,)):
        yield statement.finding(
            TAG_SESSION_MISSING, "a tag is required, but no statement allows sts:TagSession, which a tag needs"
        )
    if allows_tagging:
        yield from _check_other_tags(statement)


def _check_other_tags(statement: LintedStatement) -> Iterator[Finding]:
    tag = statement.layout.session_tag
    if not any(_accepts_only(condition, tag) for condition in statement.conditions):
        yield statement.finding(OTHER_TAGS_ACCEPTED, f"tags other than {tag} are accepted too")
    if not statement.forbids_key(TRANSITIVE_TAG_KEYS):
        yield statement.finding(TRANSITIVE_TAGS, "the caller can pass the tag on to every role that is assumed next")


def _accepts_only(condition: LintedCondition, tag: str) -> bool:
    """Returns whether the condition rejects a request with a tag of another name."""
    operator = condition.operator
    compares_text = operator.type in {"string", "string_like"} and not operator.is_negated
    covers_all_tags = condition.lowercase_key == TAG_KEYS and operator.quantifier == "ForAllValues"
    return covers_all_tags and compares_text and set(condition.values) <= {tag}


def _check_tag_value(statement: LintedStatement) -> Iterator[Finding]:
    key = statement.layout.request_tag
    conditions = [
        condition
        for condition in statement.conditions
        if condition.lowercase_key == key.lower() and not condition.forbids_key(key)
    ]
    if conditions and all(_may_accept_empty_tag(condition) for condition in conditions):
        yield statement.finding(EMPTY_TAG_ACCEPTED, f"a tag {statement.layout.session_tag} without a value is accepted")


def _may_accept_empty_tag(condition: LintedCondition) -> bool:
    """Returns whether the condition may accept a request in which the tag is empty or missing.

    The values of negated operators and of IfExists are not examined: the answer for these operators is always True.
    """
    operator = condition.operator
    may_accept_any_value = condition.is_null_check or operator.is_negated or operator.if_exists
    return may_accept_any_value or any(not value.strip("*") for value in condition.values)
