"""Policies as texts: what cannot be read is found too, with the place named."""

import json
import re
from collections.abc import Mapping
from typing import Any

from keyfence_iam.document import BadPolicy, Kind, parse_text
from keyfence_iam.lint.checks import lint
from keyfence_iam.lint.finding import Finding, Rule
from keyfence_iam.lint.text import STRANGE_CHARACTER

UNREADABLE = Rule(
    "invalid", "not-a-policy", "Write what IAM accepts: it would refuse this document, or read it otherwise."
)

_INEXPRESSIBLE = re.compile(r"[^\t\n\r\x20-\xff]")


def lint_text(document: str, kind: Kind | None = None) -> list[Finding]:
    """Every hole of the policy that this text is; its kind is told by the text unless it is given."""
    try:
        policy = parse_text(document, where="policy", kind=kind or _kind(document))
    except BadPolicy as error:
        place, _, problem = str(error).partition(": ")
        rule = STRANGE_CHARACTER if _strange(document) else UNREADABLE
        return [Finding(hole=rule.hole, name=rule.name, place=place, problem=problem, fix=rule.fix)]
    return lint(policy, kind)


def _kind(document: str) -> Kind:
    statements = _statements(document)
    if not any("Principal" in one or "NotPrincipal" in one for one in statements):
        return "identity"
    return "resource" if any("Resource" in one or "NotResource" in one for one in statements) else "trust"


def _statements(document: str) -> list[Mapping[str, Any]]:
    """As far as they can be told; what is wrong with the rest is for the parser to say."""
    loaded = _loaded(document)
    found = loaded.get("Statement") if isinstance(loaded, Mapping) else None
    return [one for one in (found if isinstance(found, list) else [found]) if isinstance(one, Mapping)]


def _strange(document: str) -> bool:
    """Also when the character is written as an escape."""
    return bool(_INEXPRESSIBLE.search(json.dumps(_loaded(document), ensure_ascii=False)))


def _loaded(document: str) -> Any:
    try:
        return json.loads(document)
    except (ValueError, RecursionError):
        return None
