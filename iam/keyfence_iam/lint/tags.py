"""Holes around tags and variables: what happens when a tag is missing, empty, or spelled otherwise."""

import re
from collections.abc import Iterable, Iterator

from keyfence_iam.lint.condition_keys import TAG_KEYS, known
from keyfence_iam.lint.finding import Finding, Rule
from keyfence_iam.lint.line import VARIABLE, Line
from keyfence_iam.lint.subject import Subject
from keyfence_iam.policies.tag import TENANT_TAG

NEGATED = Rule("H8", "negated-operator-in-allow", "Say what is allowed with a positive operator, or Deny the rest.")
DEFAULTED = Rule("H8", "variable-with-default", "Take the default away: a session without the tag must get nothing.")
SKIPPED_DENY = Rule("H8", "deny-skipped-without-tag", "Compare the tag by its key, and Deny its absence with Null.")
UNKNOWN_VARIABLE = Rule("H2", "unknown-variable", "Spell a key that has one value in every request.")
ROLE_TAGGING = Rule("H10", "role-tagging-granted", "Tag no role: its tags are those of every session without them.")
SPELLING = Rule("H11", "tag-key-spelling", f"Write `{TENANT_TAG}` everywhere.")
CASE_IGNORED = Rule("H11", "case-ignored", "Compare keys exactly: tenants are told apart by case-sensitive text.")


def check(subject: Subject) -> Iterator[Finding]:
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
