"""`lint` and `lint_text`: run all checks on a policy."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from keyfence_iam.lint import (
    action_and_resource_checks,
    condition_checks,
    leading_key_checks,
    trust_policy_checks,
    variable_and_tag_checks,
)
from keyfence_iam.lint.findings import Finding, LintRule
from keyfence_iam.lint.linted_statement import LintedStatement
from keyfence_iam.lint.tenant_layout import TenantLayout
from keyfence_iam.policy import DocumentKind, InvalidPolicy, Policy, Statement, document_kind, parse_policy_text

NOT_A_POLICY = LintRule("invalid", "not-a-policy", "Correct the document: IAM rejects it, or reads it differently.")
EMPTY_LIST = LintRule("invalid", "empty-list", "Fill the list or remove the element: an empty list matches nothing.")
VERSION_WITHOUT_VARIABLES = LintRule("H24", "version-without-variables", 'Write "Version": "2012-10-17".')
NON_ASCII_CHARACTER = LintRule("H30", "non-ascii-character", "Use ASCII only, as tenant ids, tags and names do.")

_CHECKS: tuple[Callable[[LintedStatement], Iterator[Finding]], ...] = (
    condition_checks.check,
    variable_and_tag_checks.check,
    leading_key_checks.check,
    action_and_resource_checks.check_actions,
    action_and_resource_checks.check_resources,
    action_and_resource_checks.check_attributes,
    trust_policy_checks.check,
)
_OUTSIDE_LATIN_1 = re.compile(r"[^\t\n\r\x20-\xff]")
_KEYFENCE_LAYOUT = TenantLayout()


def lint(policy: Policy, kind: DocumentKind | None = None, *, layout: TenantLayout = _KEYFENCE_LAYOUT) -> list[Finding]:
    """Returns the weaknesses of a policy, statement by statement.

    If `kind` is None, `document_kind` derives the kind from the content of the policy.
    """
    policy_kind = kind or document_kind(policy.as_json())
    findings = list(_check_document(policy, layout))
    for position in range(len(policy.statements)):
        statement = LintedStatement(policy, position, policy_kind, layout)
        findings += [finding for check in _CHECKS for finding in check(statement)]
    return findings


def lint_text(
    document: str, kind: DocumentKind | None = None, *, layout: TenantLayout = _KEYFENCE_LAYOUT
) -> list[Finding]:
    """Returns the weaknesses of a policy in JSON. A text that is not a policy yields a finding and no error."""
    value = _load(document)
    policy_kind = kind or document_kind(value)
    try:
        policy = parse_policy_text(document, path="policy", kind=policy_kind)
    except InvalidPolicy as error:
        path, _, problem = str(error).partition(": ")
        rule = NON_ASCII_CHARACTER if _has_character_outside_latin_1(value) else NOT_A_POLICY
        return [Finding.of(rule, layout, path, problem)]
    return lint(policy, policy_kind, layout=layout)


def _check_document(policy: Policy, layout: TenantLayout) -> Iterator[Finding]:
    if policy.version != "2012-10-17":
        problem = layout.fill_placeholders(f"in version {policy.version} variables such as <variable> are plain text")
        yield Finding.of(VERSION_WITHOUT_VARIABLES, layout, "Version", problem)
    for position, statement in enumerate(policy.statements):
        location = f"Statement[{position}]"
        text = json.dumps(statement.as_json(), ensure_ascii=False)
        unusual_characters = sorted({character for character in text if _is_unusual(character)})
        if unusual_characters:
            codes = ", ".join(f"U+{ord(character):04X}" for character in unusual_characters)
            yield Finding.of(NON_ASCII_CHARACTER, layout, location, f"some parts of IAM do not accept {codes}")
        for element in _empty_elements(statement):
            yield Finding.of(EMPTY_LIST, layout, location, f"{element} is an empty list, which matches nothing")


def _empty_elements(statement: Statement) -> list[str]:
    """Returns the names of the statement's elements and conditions that have no values."""
    json_elements = statement.as_json()
    elements = [name for name in ("Action", "Resource") if json_elements.get(name) == []]
    return elements + [
        f"{condition.operator} {condition.key}" for condition in statement.conditions if not condition.values
    ]


def _is_unusual(character: str) -> bool:
    """Returns whether a character is neither printable ASCII nor a tab nor a line end."""
    return not (character.isascii() and (character.isprintable() or character in "\t\n\r"))


def _has_character_outside_latin_1(value: Any) -> bool:
    """Returns whether a string in the JSON value has a character outside of Latin-1.

    The text of the policy is not searched, since it can contain the character as an escape such as `\\u4e2d`.
    """
    return bool(_OUTSIDE_LATIN_1.search(json.dumps(value, ensure_ascii=False)))


def _load(document: str) -> Any:
    """Returns the JSON value, or None if the text is not JSON. `parse_policy_text` reports the error later."""
    try:
        return json.loads(document)
    except (ValueError, RecursionError):
        return None
