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


class Machine(RuleBasedStateMachine):
    """A parent that embeds only a few edges, so that few steps fill it."""

    def __init__(self) -> None:
        super().__init__()
        self.parent = Parent()
        self.size = patch.object(embedded_edges, "MAX_EMBEDDED_EDGES", MAX_EMBEDDED_EDGES)

    def shrink(self, size: int) -> None:
        self.size = patch.object(embedded_edges, "MAX_EMBEDDED_EDGES", size)
        self.size.start()

    def teardown(self) -> None:
        self.size.stop()


class Writers(Machine):
    """Writers that read the edges, wait while others write, and then write if their condition still holds.

    A writer who changes an edge has read it before the head, so a head from before the child came is not its own."""

    read_heads = Bundle("read_heads")

    @initialize(target=read_heads, size=SIZES, children=st.lists(CHILDREN, unique=True, max_size=3))
    def begin(self, size: int, children: list[str]) -> EmbeddedEdges:
        self.shrink(size)
        for child in children:
            self.parent.add(self.parent.head, child)
        return self.parent.head

    @rule(target=read_heads)
    def read(self) -> EmbeddedEdges:
        return self.parent.head

    @rule(child=CHILDREN)
    def add(self, child: str) -> None:
        self.parent.add(self.parent.head, child)

    @rule(head=read_heads, child=CHILDREN)
    def add_late(self, head: EmbeddedEdges, child: str) -> None:
        self.parent.add(head, child)

    @rule(child=CHILDREN)
    def remove(self, child: str) -> None:
        self.parent.remove(child)

    @rule(child=CHILDREN)
    def change(self, child: str) -> None:
        self.parent.change(self.parent.head, child)

    @rule(head=read_heads, child=CHILDREN)
    def change_late(self, head: EmbeddedEdges, child: str) -> None:
        if head.entries.get(child) == self.parent.children.get(child):
            self.parent.change(head, child)

    @invariant()
    def what_the_head_knows_is_true(self) -> None:
        self.parent.check()


class OneWriter(Machine):
    """One writer after the other: then there are never more edges than the limit, and the first children are known."""

    @initialize(size=SIZES)
    def begin(self, size: int) -> None:
        self.shrink(size)

    @rule(child=CHILDREN)
    def add(self, child: str) -> None:
        self.parent.add(self.parent.head, child)
        assert child in self.parent.children

    @rule(child=CHILDREN)
    def remove(self, child: str) -> None:
        self.parent.remove(child)

    @rule(child=CHILDREN)
    def change(self, child: str) -> None:
        self.parent.change(self.parent.head, child)

    @invariant()
    def the_head_is_small_and_true(self) -> None:
        self.parent.check()
        assert len(self.parent.head.entries) <= embedded_edges.MAX_EMBEDDED_EDGES


TestWriters = Writers.TestCase
TestWriters.settings = examples(250, stateful_step_count=15)
TestOneWriter = OneWriter.TestCase
TestOneWriter.settings = examples(50, stateful_step_count=20)
