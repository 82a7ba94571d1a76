"""Inputs of update mutations: what was given, and what was given as null."""

from dataclasses import fields
from typing import Any

import strawberry

from keyfence.errors import BadInput


def changes(given: Any, *, clearable: frozenset[str] = frozenset()) -> dict[str, Any]:
    """The fields that the caller named. Null clears a field that may be empty and is refused for the others."""
    named = {field.name: getattr(given, field.name) for field in fields(given)}
    wanted = {name: value for name, value in named.items() if value is not strawberry.UNSET}
    for name, value in wanted.items():
        if value is None and name not in clearable:
            raise BadInput(f"{name} cannot be null; leave it out to keep it", field=name)
    return wanted
