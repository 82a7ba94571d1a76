"""Holes of the document as a whole: its version and its characters."""

import json
from collections.abc import Iterator

from keyfence_iam.document import Policy, Statement
from keyfence_iam.lint.finding import Finding, Rule

OLD_VERSION = Rule("H24", "version-without-variables", 'Write "Version": "2012-10-17".')
STRANGE_CHARACTER = Rule("H30", "strange-character", "Keep to ASCII: tenant ids, tags and names are made of it.")


EMPTY_LIST = Rule("invalid", "empty-list", "Write what is meant, or take it out: an empty list matches nothing.")


def check(policy: Policy) -> Iterator[Finding]:
    if policy.version != "2012-10-17":
        problem = f"version {policy.version}: variables such as ${{aws:PrincipalTag/tenant}} are plain text in it"
        yield _finding(OLD_VERSION, "Version", problem)
    for number, statement in enumerate(policy.statements):
        strange = sorted({one for one in json.dumps(statement.as_json(), ensure_ascii=False) if _strange(one)})
        if strange:
            problem = f"{', '.join(f'U+{ord(one):04X}' for one in strange)}: not every part of IAM takes or compares it"
            yield _finding(STRANGE_CHARACTER, f"Statement[{number}]", problem)
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


def _finding(rule: Rule, place: str, problem: str) -> Finding:
    return Finding(hole=rule.hole, name=rule.name, place=place, problem=problem, fix=rule.fix)
