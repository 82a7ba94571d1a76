"""Edges to a parent's first children, stored on the parent's item, so that one read returns the parent with them.

A batch of parents, each with its first children, is therefore one BatchGetItem instead of a Query for each parent.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from keyfence.store.expressions import Condition, Path, UpdateExpression, absent, equals

MAX_EMBEDDED_EDGES = 24
_ENTRIES = ("embeddedEdges", "entries")
_COMPLETE_UNTIL = ("embeddedEdges", "completeUntil")

EdgeAttributes = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class EmbeddedEdges:
    """The attributes of edges to children, by the child's id.

    `entries` contains every child whose id is at most `complete_until`, or every child if that is None. Entries above
    `complete_until` may be left over from earlier; readers ignore them.

    `complete_until` is only set or lowered, and only under the condition that nobody changed it since it was read.
    Raising it would need proof that no child between the old and the new value is missing.
    """

    entries: Mapping[str, EdgeAttributes] = field(default_factory=dict)
    complete_until: str | None = None

    def first(self, count: int) -> list[tuple[str, EdgeAttributes]] | None:
        """Returns the first children in the order of their ids, or None if fewer than `count` are known for certain."""
        known = self._known()
        return known[:count] if self.complete_until is None or len(known) >= count else None

    def add(self, child: str, edge: EdgeAttributes) -> UpdateExpression:
        """Returns the update of the parent's item for a new child. Write it under `is_unchanged`."""
        if self.complete_until is not None and child > self.complete_until:
            return UpdateExpression()
        if len(self.entries) >= MAX_EMBEDDED_EDGES:
            return self._add_and_trim(child, edge)
        return UpdateExpression(sets={(*_ENTRIES, child): edge})

    def change(self, child: str, edge: EdgeAttributes) -> UpdateExpression:
        """Returns the update of the parent's item for a child whose edge has other attributes now."""
        return UpdateExpression(sets={(*_ENTRIES, child): edge} if child in self.entries else {})

    def is_unchanged(self) -> Condition:
        """Returns the condition that `complete_until` is still what it was when this was read."""
        return absent(*_COMPLETE_UNTIL) if self.complete_until is None else equals(_COMPLETE_UNTIL, self.complete_until)

    def _add_and_trim(self, child: str, edge: EdgeAttributes) -> UpdateExpression:
        """Keeps the lowest ids and removes the others. The new child may be one of the others."""
        ids = sorted({*(id for id, _ in self._known()), child})
        last = ids[:MAX_EMBEDDED_EDGES][-1]
        sets: dict[Path, object] = {_COMPLETE_UNTIL: last}
        if child <= last:
            sets[*_ENTRIES, child] = edge
        return UpdateExpression(sets=sets, removes=tuple((*_ENTRIES, id) for id in self.entries if id > last))

    def _known(self) -> list[tuple[str, EdgeAttributes]]:
        end = self.complete_until
        return sorted((id, edge) for id, edge in self.entries.items() if end is None or id <= end)


def remove_edge(child: str) -> UpdateExpression:
    """Returns the update of the parent's item for a child that is gone."""
    return UpdateExpression(removes=((*_ENTRIES, child),))
