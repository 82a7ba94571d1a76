"""Principals as trust and resource policies name them."""

import re
from collections.abc import Mapping
from typing import Any

from keyfence_iam.document.places import elements, refuse, texts

EVERYBODY = "*"

_KINDS = frozenset({"AWS", "Service", "Federated", "CanonicalUser"})
_AWS = re.compile(r"\*|[0-9]{12}|arn:[a-z0-9-]+:(?:iam|sts)::[0-9]{12}:[^*?]+|[A-Z0-9]{16,128}")


def read_principals(written: Mapping[str, Any], name: str, where: str) -> Mapping[str, tuple[str, ...]] | None:
    """By kind, who is named; a lone "*" is the same as every AWS principal."""
    if name not in written:
        return None
    if written[name] == EVERYBODY:
        return {"AWS": (EVERYBODY,)}
    kinds = elements(written[name], f"{where}.{name}", _KINDS)
    if not kinds:
        refuse(f"{where}.{name}", "names nobody")
    return {kind: _named(kinds, kind, f"{where}.{name}") for kind in kinds}


def _named(kinds: Mapping[str, Any], kind: str, where: str) -> tuple[str, ...]:
    named = texts(kinds, kind, where)
    for name, place in named:
        if not (_AWS.fullmatch(name) if kind == "AWS" else name and not {"*", "?"} & set(name)):
            refuse(place, f"{name!r} is not the whole name of a principal")
    return tuple(name for name, _ in named)
