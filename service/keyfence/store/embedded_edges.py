"""Edges to the first children of a parent, stored in the parent's item.

One BatchGetItem then returns many parents with their first children. Otherwise each parent would need a Query.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from keyfence.store.expressions import Condition, Path, UpdateExpression, absent, equals

MAX_EMBEDDED_EDGES = 24
"""The limit keeps the parent's item small. Every read and write of the parent costs the size of its item."""
_ENTRIES: Path = ("embeddedEdges", "entries")
_COMPLETE_UNTIL: Path = ("embeddedEdges", "completeUntil")

EdgeAttributes = Mapping[str, str]
"""Attributes of the child that are shown with the edge, such as the role of a member."""


@dataclass(frozen=True, slots=True)
class EmbeddedEdges:
    """The edges of one parent, as they were read from its item."""

    entries: Mapping[str, EdgeAttributes] = field(default_factory=dict)
    """The edges by the id of the child. Entries above `complete_until` may be outdated, and readers ignore them."""
    complete_until: str | None = None
    """Every child with an id up to this one is in `entries`. None means that every child is in `entries`.

    This id is never raised. To raise it, a writer would have to know that no child between the old and the new
    id is missing. A write must have the condition that no other writer changed this id."""

    def first(self, count: int) -> list[tuple[str, EdgeAttributes]] | None:
        """Returns the first `count` children by id, or None if `entries` may not have all of them."""
        certain_entries = self._certain_entries()
        is_enough = self.complete_until is None or len(certain_entries) >= count
        return certain_entries[:count] if is_enough else None

    def add(self, child: str, edge: EdgeAttributes) -> UpdateExpression:
        """Returns the update of the parent's item for a new child. Write this update with `unchanged_condition`.

        The update is empty if the id of the child is above `complete_until`."""
        if self.complete_until is not None and child > self.complete_until:
            return UpdateExpression()
        if len(self.entries) >= MAX_EMBEDDED_EDGES:
            return self._add_and_trim(child, edge)
        return UpdateExpression(sets={(*_ENTRIES, child): edge})

    def change(self, child: str, edge: EdgeAttributes) -> UpdateExpression:
        """Returns the update of the parent's item for new attributes of a child's edge.

        The update is empty if `entries` does not have the child."""
        return UpdateExpression(sets={(*_ENTRIES, child): edge} if child in self.entries else {})

    def unchanged_condition(self) -> Condition:
        """Returns the condition that no other writer has changed `complete_until` since the item was read."""
        return absent(*_COMPLETE_UNTIL) if self.complete_until is None else equals(_COMPLETE_UNTIL, self.complete_until)

    def _add_and_trim(self, child: str, edge: EdgeAttributes) -> UpdateExpression:
        """Returns the update that keeps the children with the lowest ids and removes the others.

        If the new child is not among the lowest ids, the update does not add it."""
        ids = sorted({*(id for id, _ in self._certain_entries()), child})
        last = ids[:MAX_EMBEDDED_EDGES][-1]
        sets: dict[Path, object] = {_COMPLETE_UNTIL: last}
        if child <= last:
            sets[*_ENTRIES, child] = edge
        return UpdateExpression(sets=sets, removes=tuple((*_ENTRIES, id) for id in self.entries if id > last))

    def _certain_entries(self) -> list[tuple[str, EdgeAttributes]]:
        """Returns the entries up to `complete_until`, by id."""
        end = self.complete_until
        return sorted((id, edge) for id, edge in self.entries.items() if end is None or id <= end)


def remove_edge(child: str) -> UpdateExpression:
    """Returns the update of the parent's item for a child that is deleted."""
    return UpdateExpression(removes=((*_ENTRIES, child),))
