"""Embedded edges are true, also if writers act on edges that they read long ago."""

from unittest.mock import patch

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

from keyfence.store import embedded_edges
from keyfence.store.embedded_edges import MAX_EMBEDDED_EDGES, EmbeddedEdges
from tests.service.store.embedded_edges_model import Parent
from tests.tier import examples

CHILDREN = st.sampled_from("abcdefg")
SIZES = st.integers(1, 3)


class ParentMachine(RuleBasedStateMachine):
    """A parent that embeds only a few edges, so that few steps fill it."""

    def __init__(self) -> None:
        super().__init__()
        self.parent = Parent()
        self.limit_patch = patch.object(embedded_edges, "MAX_EMBEDDED_EDGES", MAX_EMBEDDED_EDGES)

    def set_limit(self, limit: int) -> None:
        self.limit_patch = patch.object(embedded_edges, "MAX_EMBEDDED_EDGES", limit)
        self.limit_patch.start()

    def teardown(self) -> None:
        self.limit_patch.stop()


class Writers(ParentMachine):
    """Writers that read the edges, wait while others write, and then write if their condition still holds.

    A writer who changes an edge has read it before the head, so a head from before the child came is not its own."""

    read_edges = Bundle("read_heads")

    @initialize(target=read_edges, limit=SIZES, children=st.lists(CHILDREN, unique=True, max_size=3))
    def begin(self, limit: int, children: list[str]) -> EmbeddedEdges:
        self.set_limit(limit)
        for child in children:
            self.parent.add(self.parent.edges, child)
        return self.parent.edges

    @rule(target=read_edges)
    def read(self) -> EmbeddedEdges:
        return self.parent.edges

    @rule(child=CHILDREN)
    def add(self, child: str) -> None:
        self.parent.add(self.parent.edges, child)

    @rule(edges=read_edges, child=CHILDREN)
    def add_with_read_edges(self, edges: EmbeddedEdges, child: str) -> None:
        self.parent.add(edges, child)

    @rule(child=CHILDREN)
    def remove(self, child: str) -> None:
        self.parent.remove(child)

    @rule(child=CHILDREN)
    def change(self, child: str) -> None:
        self.parent.change(self.parent.edges, child)

    @rule(edges=read_edges, child=CHILDREN)
    def change_with_read_edges(self, edges: EmbeddedEdges, child: str) -> None:
        if edges.entries.get(child) == self.parent.children.get(child):
            self.parent.change(edges, child)

    @invariant()
    def embedded_edges_are_true(self) -> None:
        self.parent.check()


class OneWriter(ParentMachine):
    """One writer after the other: then there are never more edges than the limit, and the first children are known."""

    @initialize(limit=SIZES)
    def begin(self, limit: int) -> None:
        self.set_limit(limit)

    @rule(child=CHILDREN)
    def add(self, child: str) -> None:
        self.parent.add(self.parent.edges, child)
        assert child in self.parent.children

    @rule(child=CHILDREN)
    def remove(self, child: str) -> None:
        self.parent.remove(child)

    @rule(child=CHILDREN)
    def change(self, child: str) -> None:
        self.parent.change(self.parent.edges, child)

    @invariant()
    def embedded_edges_are_true_and_within_the_limit(self) -> None:
        self.parent.check()
        assert len(self.parent.edges.entries) <= embedded_edges.MAX_EMBEDDED_EDGES


TestWriters = Writers.TestCase
TestWriters.settings = examples(250, stateful_step_count=15)
TestOneWriter = OneWriter.TestCase
TestOneWriter.settings = examples(50, stateful_step_count=20)
