"""Paths and visibility of categories during a move, without a table."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfence.domains.categories.model import (
    Category,
    CategoryMove,
    MoveId,
    MoveState,
    check_route,
    is_visible,
    moved_count,
)
from keyfence.errors import BadInput
from tests.data.bookshop import OPENING

PATHS = st.lists(st.sampled_from(["a", "ab", "#"]), min_size=1, max_size=4).map(tuple)


def move(source: tuple[str, ...], target: tuple[str, ...], **fields: Any) -> CategoryMove:
    return CategoryMove(
        id=MoveId("mov_1"), source=source, target=target, created_at=OPENING, updated_at=OPENING, **fields
    )


@given(PATHS, PATHS)
def test_a_category_can_be_moved_anywhere_but_into_itself(source: tuple[str, ...], target: tuple[str, ...]) -> None:
    if target[: len(source)] != source:
        check_route(source, target)
        return
    with pytest.raises(BadInput) as refusal:
        check_route(source, target)
    assert refusal.value.extensions == {"field": "to"}


@given(PATHS, PATHS, st.lists(st.sampled_from(["a", "b"]), max_size=3).map(tuple))
def test_subcategories_stay_below_a_moved_category(
    source: tuple[str, ...], target: tuple[str, ...], below: tuple[str, ...]
) -> None:
    assert move(source, target).new_path(source + below) == target + below


def test_a_new_path_that_is_too_long_is_bad_input() -> None:
    with pytest.raises(BadInput) as refusal:
        move(("a",), ("x" * 200,)).new_path(("a", *("y" * 190 for _ in range(5))))
    assert refusal.value.extensions == {"field": "to"}


def test_a_cancelled_move_is_bad_input_and_a_finished_one_has_a_count() -> None:
    assert moved_count(move(("a",), ("b",), category_count=3, finished_at=OPENING)) == 3
    with pytest.raises(BadInput, match="too long under the new path"):
        moved_count(move(("a",), ("b",), finished_at=OPENING))


@pytest.mark.parametrize(
    ("move_state", "visible"), [(None, True), (MoveState.LEAVING, True), (MoveState.ARRIVING, False)]
)
def test_a_category_that_is_moved_is_visible_once(move_state: MoveState | None, visible: bool) -> None:
    assert is_visible(Category(path=("a",), created_at=OPENING, updated_at=OPENING, move_state=move_state)) is visible


def test_the_name_of_a_category_is_the_last_part_of_its_path() -> None:
    category = Category(path=("a", "b#"), created_at=OPENING, updated_at=OPENING)
    assert (category.name, category.depth) == ("b#", 2)
