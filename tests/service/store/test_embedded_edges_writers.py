"""Embedded edges match the children, even if writers use edges that they read long ago."""

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
    """A parent with a low limit of embedded edges, so that few steps reach the limit."""

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

    A writer that changes an edge reads the child first and the parent's edges second. So the edges that it read are
    never older than the child."""

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
    """Writers that do not overlap. The parent then never has more edges than the limit."""

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
