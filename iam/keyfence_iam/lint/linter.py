"""`lint`, `lint_text`; checks of the document as a whole."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from keyfence_iam.lint import conditions, grants, principals
from keyfence_iam.lint.statement import Finding, LintedStatement, LintRule, document_kind
from keyfence_iam.policy import DocumentKind, InvalidPolicy, Policy, Statement, parse_policy_text

OLD_VERSION = LintRule("H24", "version-without-variables", 'Write "Version": "2012-10-17".')
NON_ASCII = LintRule("H30", "strange-character", "Keep to ASCII: tenant ids, tags and names are made of it.")


EMPTY_LIST = LintRule("invalid", "empty-list", "Write what is meant, or take it out: an empty list matches nothing.")


def check(policy: Policy) -> Iterator[Finding]:
    if policy.version != "2012-10-17":
        problem = f"version {policy.version}: variables such as ${{aws:PrincipalTag/tenant}} are plain text in it"
        yield _finding(OLD_VERSION, "Version", problem)
    for number, statement in enumerate(policy.statements):
        strange = sorted({one for one in json.dumps(statement.as_json(), ensure_ascii=False) if _strange(one)})
        if strange:
            problem = f"{', '.join(f'U+{ord(one):04X}' for one in strange)}: not every part of IAM takes or compares it"
            yield _finding(NON_ASCII, f"Statement[{number}]", problem)
        for name in _empty(statement):
            yield _finding(
                EMPTY_LIST,
                f"Statement[{number}]",
                f"{name} lists nothing: the statement does not do what it looks like",
            )


def _empty(statement: Statement) -> list[str]:
    written = statement.as_json()
    elements = [name for name in ("Action", "Resource") if written.get(name) == []]
    return elements + [f"{one.operator} {one.key}" for one in statement.conditions if not one.values]


def _strange(character: str) -> bool:
    return not (character.isascii() and (character.isprintable() or character in "\t\n\r"))


def _finding(rule: LintRule, place: str, problem: str) -> Finding:
    return Finding(code=rule.code, name=rule.name, location=place, problem=problem, fix=rule.fix)


CHECKS: tuple[Callable[[LintedStatement], Iterator[Finding]], ...] = (
    conditions.check_conditions,
    conditions.check_tags,
    conditions.check_leading_keys,
    grants.check_actions,
    grants.check_resources,
    grants.check_attributes,
    principals.check,
)


def lint(policy: Policy, kind: DocumentKind | None = None) -> list[Finding]:
    """Every hole of this policy, statement by statement; its kind is told by its text unless it is given."""
    found = list(check(policy))
    for number in range(len(policy.statements)):
        subject = LintedStatement(policy, number, kind or document_kind(policy.statements))
        found += [finding for check in CHECKS for finding in check(subject)]
    return found


UNREADABLE = LintRule(
    "invalid", "not-a-policy", "Write what IAM accepts: it would refuse this document, or read it otherwise."
)

_INEXPRESSIBLE = re.compile(r"[^\t\n\r\x20-\xff]")


def lint_text(document: str, kind: DocumentKind | None = None) -> list[Finding]:
    """Every hole of the policy that this text is; its kind is told by the text unless it is given."""
    try:
        policy = parse_policy_text(document, path="policy", kind=kind or _kind(document))
    except InvalidPolicy as error:
        place, _, problem = str(error).partition(": ")
        rule = NON_ASCII if _strange_character(document) else UNREADABLE
        return [Finding(code=rule.code, name=rule.name, location=place, problem=problem, fix=rule.fix)]
    return lint(policy, kind)


def _kind(document: str) -> DocumentKind:
    statements = _statements(document)
    if not any("Principal" in one or "NotPrincipal" in one for one in statements):
        return "identity"
    return "resource" if any("Resource" in one or "NotResource" in one for one in statements) else "trust"


def _statements(document: str) -> list[Mapping[str, Any]]:
    """As far as they can be told; what is wrong with the rest is for the parser to say."""
    loaded = _loaded(document)
    found = loaded.get("Statement") if isinstance(loaded, Mapping) else None
    return [one for one in (found if isinstance(found, list) else [found]) if isinstance(one, Mapping)]


def _strange_character(document: str) -> bool:
    """Also when the character is written as an escape."""
    return bool(_INEXPRESSIBLE.search(json.dumps(_loaded(document), ensure_ascii=False)))


def _loaded(document: str) -> Any:
    try:
        return json.loads(document)
    except (ValueError, RecursionError):
        return None
