"""A head knows the first children, and where its knowledge ends."""

import itertools
from unittest.mock import patch

import pytest

from keyfence.store import embedded_edges as heads
from keyfence.store.embedded_edges import MAX_EMBEDDED_EDGES, EmbeddedEdges
from tests.unit.store.embedded_edges_model import filled


def test_a_head_of_few_children_knows_them_all() -> None:
    parent = filled("b", "a")
    assert [child for child, _ in parent.head.first(100) or []] == ["a", "b"]
    assert EmbeddedEdges().first(1) == []


def test_a_full_head_knows_its_size_and_no_more() -> None:
    parent = filled(*(f"{number:03d}" for number in range(MAX_EMBEDDED_EDGES + 1)))
    assert len(parent.head.first(MAX_EMBEDDED_EDGES) or []) == MAX_EMBEDDED_EDGES
    assert parent.head.first(MAX_EMBEDDED_EDGES + 1) is None


def test_a_lower_child_pushes_the_highest_out_of_a_full_head() -> None:
    parent = filled(*(f"{number:03d}" for number in range(1, MAX_EMBEDDED_EDGES + 2)))
    parent.add(parent.head, "000")
    assert list(parent.head.entries)[-1] == "000"
    assert len(parent.head.entries) == MAX_EMBEDDED_EDGES
    parent.check()


def test_a_head_that_lost_children_does_not_claim_to_know_the_next() -> None:
    parent = filled(*(f"{number:03d}" for number in range(MAX_EMBEDDED_EDGES + 5)))
    parent.remove("000")
    assert parent.head.first(MAX_EMBEDDED_EDGES) is None
    assert len(parent.head.first(MAX_EMBEDDED_EDGES - 1) or []) == MAX_EMBEDDED_EDGES - 1


def test_a_writer_who_saw_an_open_head_cannot_write_once_it_is_closed() -> None:
    parent = filled("001")
    old = parent.head
    for number in range(2, MAX_EMBEDDED_EDGES + 3):
        parent.add(parent.head, f"{number:03d}")
    parent.add(old, "999")
    assert "999" not in parent.children


@pytest.mark.parametrize(("size", "children"), [(1, "abcde"), (2, "abcdef")])
def test_a_writer_who_saw_an_older_closed_head_does_not_reopen_what_was_let_go(size: int, children: str) -> None:
    """In whatever order the children come, and wherever the late one stands among them."""
    with patch.object(heads, "MAX_EMBEDDED_EDGES", size):
        for *early, second, third, late in itertools.permutations(children):
            parent = filled(*early)
            old = parent.head
            parent.add(parent.head, second)
            parent.add(parent.head, third)
            parent.add(old, late)
            parent.check()


def test_entries_that_were_left_over_above_the_end_are_passed_over() -> None:
    head = EmbeddedEdges({"a": {"version": "1"}, "z": {"version": "2"}}, complete_until="b")
    assert head.first(1) == [("a", {"version": "1"})]
    assert head.first(2) is None
