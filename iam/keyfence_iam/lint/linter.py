"""`lint` and `lint_text`: every check of a policy."""

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
from keyfence_iam.lint.linted_statement import Finding, LintedStatement, LintRule
from keyfence_iam.lint.tenant_layout import TenantLayout
from keyfence_iam.policy import DocumentKind, InvalidPolicy, Policy, Statement, document_kind, parse_policy_text

INVALID = LintRule("invalid", "not-a-policy", "Correct the document: IAM rejects it, or reads it differently.")
EMPTY_LIST = LintRule("invalid", "empty-list", "Fill the list or remove the element: an empty list matches nothing.")
OLD_VERSION = LintRule("H24", "version-without-variables", 'Write "Version": "2012-10-17".')
NON_ASCII = LintRule("H30", "non-ascii-character", "Use ASCII only, as tenant ids, tags and names do.")

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
_KEYFENCE = TenantLayout()


def lint(policy: Policy, kind: DocumentKind | None = None, *, layout: TenantLayout = _KEYFENCE) -> list[Finding]:
    """Returns the weaknesses of a policy, statement by statement. Its kind is derived from its text unless given."""
    derived = kind or document_kind(policy.as_json())
    found = list(_check_document(policy, layout))
    for number in range(len(policy.statements)):
        statement = LintedStatement(policy, number, derived, layout)
        found += [finding for check in _CHECKS for finding in check(statement)]
    return found


def lint_text(document: str, kind: DocumentKind | None = None, *, layout: TenantLayout = _KEYFENCE) -> list[Finding]:
    """Returns the weaknesses of a policy in JSON. A text that is not a policy is a finding, not an error."""
    loaded = _load(document)
    derived = kind or document_kind(loaded)
    try:
        policy = parse_policy_text(document, path="policy", kind=derived)
    except InvalidPolicy as error:
        path, _, problem = str(error).partition(": ")
        rule = NON_ASCII if _has_character_outside_latin_1(loaded) else INVALID
        return [Finding.of(rule, layout, path, problem)]
    return lint(policy, derived, layout=layout)


def _check_document(policy: Policy, layout: TenantLayout) -> Iterator[Finding]:
    if policy.version != "2012-10-17":
        problem = layout.describe(f"in version {policy.version} variables such as <variable> are plain text")
        yield Finding.of(OLD_VERSION, layout, "Version", problem)
    for number, statement in enumerate(policy.statements):
        location = f"Statement[{number}]"
        characters = sorted({one for one in json.dumps(statement.as_json(), ensure_ascii=False) if _is_unusual(one)})
        if characters:
            codes = ", ".join(f"U+{ord(one):04X}" for one in characters)
            yield Finding.of(NON_ASCII, layout, location, f"not every part of IAM accepts or compares {codes}")
        for element in _empty_elements(statement):
            yield Finding.of(EMPTY_LIST, layout, location, f"{element} is an empty list, which matches nothing")


def _empty_elements(statement: Statement) -> list[str]:
    rendered = statement.as_json()
    elements = [name for name in ("Action", "Resource") if rendered.get(name) == []]
    return elements + [f"{one.operator} {one.key}" for one in statement.conditions if not one.values]


def _is_unusual(character: str) -> bool:
    return not (character.isascii() and (character.isprintable() or character in "\t\n\r"))


def _has_character_outside_latin_1(loaded: Any) -> bool:
    """Rendering the loaded value shows characters that the text has as escapes."""
    return bool(_OUTSIDE_LATIN_1.search(json.dumps(loaded, ensure_ascii=False)))


def _load(document: str) -> Any:
    """Returns the JSON value, or None. The parser says later what is wrong with it."""
    try:
        return json.loads(document)
    except (ValueError, RecursionError):
        return None
