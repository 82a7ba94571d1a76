"""Embedded edges contain the first children, and know up to which id they are complete."""

import itertools
from unittest.mock import patch

import pytest

from keyfence.store import embedded_edges
from keyfence.store.embedded_edges import MAX_EMBEDDED_EDGES, EmbeddedEdges
from tests.service.store.embedded_edges_model import parent_with


def test_few_children_are_all_embedded() -> None:
    parent = parent_with("b", "a")
    assert [child for child, _ in parent.edges.first(100) or []] == ["a", "b"]
    assert EmbeddedEdges().first(1) == []


def test_no_more_than_the_limit_are_embedded() -> None:
    parent = parent_with(*(f"{number:03d}" for number in range(MAX_EMBEDDED_EDGES + 1)))
    assert len(parent.edges.first(MAX_EMBEDDED_EDGES) or []) == MAX_EMBEDDED_EDGES
    assert parent.edges.first(MAX_EMBEDDED_EDGES + 1) is None


def test_a_lower_child_replaces_the_highest_one() -> None:
    parent = parent_with(*(f"{number:03d}" for number in range(1, MAX_EMBEDDED_EDGES + 2)))
    parent.add(parent.edges, "000")
    assert list(parent.edges.entries)[-1] == "000"
    assert len(parent.edges.entries) == MAX_EMBEDDED_EDGES
    parent.check()


def test_after_removals_the_following_children_are_not_known() -> None:
    parent = parent_with(*(f"{number:03d}" for number in range(MAX_EMBEDDED_EDGES + 5)))
    parent.remove("000")
    assert parent.edges.first(MAX_EMBEDDED_EDGES) is None
    assert len(parent.edges.first(MAX_EMBEDDED_EDGES - 1) or []) == MAX_EMBEDDED_EDGES - 1


def test_a_writer_that_read_complete_edges_cannot_write_once_they_are_limited() -> None:
    parent = parent_with("001")
    old = parent.edges
    for number in range(2, MAX_EMBEDDED_EDGES + 3):
        parent.add(parent.edges, f"{number:03d}")
    parent.add(old, "999")
    assert "999" not in parent.children


@pytest.mark.parametrize(("size", "children"), [(1, "abcde"), (2, "abcdef")])
def test_a_writer_that_read_older_edges_does_not_raise_the_limit(size: int, children: str) -> None:
    """Checks every order of the children and every position of the last child."""
    with patch.object(embedded_edges, "MAX_EMBEDDED_EDGES", size):
        for *early, second, third, late in itertools.permutations(children):
            parent = parent_with(*early)
            old = parent.edges
            parent.add(parent.edges, second)
            parent.add(parent.edges, third)
            parent.add(old, late)
            parent.check()


def test_entries_above_the_limit_are_ignored() -> None:
    edges = EmbeddedEdges({"a": {"version": "1"}, "z": {"version": "2"}}, complete_until="b")
    assert edges.first(1) == [("a", {"version": "1"})]
    assert edges.first(2) is None
