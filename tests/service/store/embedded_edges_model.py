"""A parent with embedded edges in its item, and its true children for comparison."""

from typing import Any

from keyfence.store.codec import Item, decode_model, encode
from keyfence.store.embedded_edges import EdgeAttributes, EmbeddedEdges, remove_edge
from keyfence.store.expressions import Condition, Placeholders, UpdateExpression
from tests.fakes.expressions import apply_update, meets_condition


class Parent:
    """The item and the true children of a parent. Its methods write with the same conditions as the service."""

    def __init__(self) -> None:
        self.item: Item = {"embeddedEdges": encode(EmbeddedEdges())}
        self.children: dict[str, EdgeAttributes] = {}
        self.writes = 0

    @property
    def edges(self) -> EmbeddedEdges:
        return decode_model(EmbeddedEdges, self.item["embeddedEdges"]["M"])

    def add(self, edges: EmbeddedEdges, child: str) -> None:
        """Adds a child that does not exist yet, as a writer that has read these edges."""
        edge = self._edge()
        if child not in self.children and self._write(edges.add(child, edge), edges.unchanged_condition()):
            self.children[child] = edge

    def change(self, edges: EmbeddedEdges, child: str) -> None:
        edge = self._edge()
        if child in self.children and self._write(edges.change(child, edge), edges.unchanged_condition()):
            self.children[child] = edge

    def remove(self, child: str) -> None:
        if child in self.children:
            assert self._write(remove_edge(child), None)
            del self.children[child]

    def check(self) -> None:
        """Asserts that the embedded edges return the first true children in order, or None."""
        true_children = sorted(self.children.items())
        for count in range(len(true_children) + 3):
            embedded = self.edges.first(count)
            assert embedded is None or embedded == true_children[:count]
        assert all(
            child in self.edges.entries for child in self.children if child <= (self.edges.complete_until or child)
        )
        if self.edges.complete_until is None:
            assert self.edges.first(len(true_children) + 1) == true_children

    def _edge(self) -> EdgeAttributes:
        self.writes += 1
        return {"version": str(self.writes)}

    def _write(self, change: UpdateExpression, condition: Condition | None) -> bool:
        rendered = body(change, condition)
        if not meets_condition(rendered, self.item):
            return False
        self.item = apply_update(rendered, self.item)
        return True


def parent_with(*children: str) -> Parent:
    parent = Parent()
    for child in children:
        parent.add(parent.edges, child)
    return parent


def body(change: UpdateExpression, condition: Condition | None) -> dict[str, Any]:
    placeholders = Placeholders()
    parameters = {"UpdateExpression": change.render(placeholders)}
    if condition is not None:
        parameters["ConditionExpression"] = condition.render(placeholders)
    return parameters | placeholders.parameters()
