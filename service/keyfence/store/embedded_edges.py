"""The first children of a parent, kept on the parent's own item, so that a page of parents is read in one batch."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from keyfence.store.expressions import Condition, UpdateExpression, absent, equals

SIZE = 24
Attributes = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class EmbeddedEdges:
    """The attributes of edges to children, by the child's id.

    Every child whose id is not above `until` is here; where `until` is None, every child is. `until` is only ever set
    or lowered, and only by a writer that saw the newest: raising it would need proof that nothing between was missed.
    Entries above it may be left over, and readers pass over them.
    """

    entries: Mapping[str, Attributes] = field(default_factory=dict)
    until: str | None = None

    def first(self, count: int) -> list[tuple[str, Attributes]] | None:
        """The first children in id order, or None when this head does not know that many."""
        known = self._known()
        return known[:count] if self.until is None or len(known) >= count else None

    def with_child(self, child: str, edge: Attributes) -> UpdateExpression:
        if self.until is not None and child > self.until:
            return UpdateExpression()
        added = UpdateExpression(sets={("head", "entries", child): edge})
        return added if len(self.entries) < SIZE else self._closed(child, edge)

    def with_edge(self, child: str, edge: Attributes) -> UpdateExpression:
        return (
            UpdateExpression(sets={("head", "entries", child): edge}) if child in self.entries else UpdateExpression()
        )

    def unchanged(self) -> Condition:
        """What must still hold for a change of this head to be right: `until` is where it was."""
        return absent("head", "until") if self.until is None else equals(("head", "until"), self.until)

    def _closed(self, child: str, edge: Attributes) -> UpdateExpression:
        """Keep the lowest ids and let go of the rest, this child perhaps among them."""
        ids = sorted({*(key for key, _ in self._known()), child})
        until = ids[:SIZE][-1]
        sets: dict[tuple[str, ...], object] = {("head", "until"): until}
        if child <= until:
            sets["head", "entries", child] = edge
        return UpdateExpression(
            sets=sets, removes=tuple(("head", "entries", key) for key in self.entries if key > until)
        )

    def _known(self) -> list[tuple[str, Attributes]]:
        return sorted((key, edge) for key, edge in self.entries.items() if self.until is None or key <= self.until)


def without_child(child: str) -> UpdateExpression:
    return UpdateExpression(removes=(("head", "entries", child),))
