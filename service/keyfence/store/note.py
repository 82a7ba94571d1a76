"""Notes: what a write is about, for the journal that is kept in the same transaction."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from keyfence.store.codec import attribute
from keyfence.store.entity import Model
from keyfence.store.write import Write


@dataclass(frozen=True, slots=True)
class Note:
    """What was done, as `noun.verb`, to which thing, with the values that changed."""

    kind: str
    target: str | None = None
    detail: Mapping[str, object] = field(default_factory=dict)


Journal = Callable[[Note], Write[Any]]
"""Turns a note into the write that keeps it, in the name of whoever acts."""


def differences(before: Model, after: Model, *shown: str) -> dict[str, object]:
    """Of these fields, what each was and is now, where that differs; no other field ever leaves the item."""
    known = {one.name for one in fields(after)}
    changed = [name for name in shown if name in known and getattr(before, name) != getattr(after, name)]
    return {
        moment: {attribute(name): getattr(model, name) for name in changed}
        for moment, model in (("before", before), ("after", after))
        if changed
    }
