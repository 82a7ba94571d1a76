"""A parent with embedded edges on its item, and the true children to compare them with."""

from typing import Any

from keyfence.store.codec import Item, decode_model, encode
from keyfence.store.embedded_edges import EdgeAttributes, EmbeddedEdges, remove_edge
from keyfence.store.expressions import Condition, Placeholders, UpdateExpression
from tests.fakes.expressions import holds, updated


class Parent:
    """A parent's item, its true children, and writers with the conditions of the service's transactions."""

    def __init__(self) -> None:
        self.item: Item = {"embeddedEdges": encode(EmbeddedEdges())}
        self.children: dict[str, EdgeAttributes] = {}
        self.writes = 0

    @property
    def head(self) -> EmbeddedEdges:
        return decode_model(EmbeddedEdges, self.item["embeddedEdges"]["M"])

    def add(self, head: EmbeddedEdges, child: str) -> None:
        """The child's own item is put in the same transaction and must not exist yet."""
        edge = self._edge()
        if child not in self.children and self._written(head.add(child, edge), head.unchanged_condition()):
            self.children[child] = edge

    def change(self, head: EmbeddedEdges, child: str) -> None:
        edge = self._edge()
        if child in self.children and self._written(head.change(child, edge), head.unchanged_condition()):
            self.children[child] = edge

    def remove(self, child: str) -> None:
        if child in self.children:
            assert self._written(remove_edge(child), None)
            del self.children[child]

    def check(self) -> None:
        """The embedded edges give the first of the true children in order, or None."""
        true = sorted(self.children.items())
        for count in range(len(true) + 3):
            known = self.head.first(count)
            assert known is None or known == true[:count]
        assert all(
            child in self.head.entries for child in self.children if child <= (self.head.complete_until or child)
        )
        if self.head.complete_until is None:
            assert self.head.first(len(true) + 1) == true

    def _edge(self) -> EdgeAttributes:
        self.writes += 1
        return {"version": str(self.writes)}

    def _written(self, change: UpdateExpression, condition: Condition | None) -> bool:
        rendered = body(change, condition)
        if not holds(rendered, self.item):
            return False
        self.item = updated(rendered, self.item)
        return True


def filled(*children: str) -> Parent:
    parent = Parent()
    for child in children:
        parent.add(parent.head, child)
    return parent


def body(change: UpdateExpression, condition: Condition | None) -> dict[str, Any]:
    placed = Placeholders()
    texts = {"UpdateExpression": change.render(placed)}
    if condition is not None:
        texts["ConditionExpression"] = condition.render(placed)
    return texts | placed.parameters()
