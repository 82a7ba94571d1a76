"""Paths from clients may have any readable names, if they fit into a key."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfence.errors import BadInput
from keyfence.store.key_template import MAX_PATH_BYTES, MAX_PATH_NAME_LENGTH, KeyTemplate, checked_path, is_within
from keyfence.store.keys import MAX_SORT_KEY_BYTES

PATHS = st.lists(st.text("ab", min_size=1, max_size=2), min_size=1, max_size=4).map(tuple)
PATH_KEY = KeyTemplate.parse("PATH#{path:path}")


@pytest.mark.parametrize(
    "name",
    ["a", "a#b", "100 %", "🦊" * MAX_PATH_NAME_LENGTH, "#" * MAX_PATH_NAME_LENGTH, "x" * MAX_PATH_NAME_LENGTH, "a/b"],
)
def test_a_name_is_accepted_exactly_as_it_is_written(name: str) -> None:
    assert checked_path([name, "b"], "path") == (name, "b")


@pytest.mark.parametrize(
    "names", [[], [""], ["a", " "], ["a\nb"], ["x" * (MAX_PATH_NAME_LENGTH + 1)], ["\ud800"], ["a", "\0"]]
)
def test_an_invalid_path_is_refused_with_the_name_of_its_field(names: list[str]) -> None:
    with pytest.raises(BadInput) as raised:
        checked_path(names, "to")
    assert raised.value.extensions == {"field": "to"}


@given(st.lists(st.sampled_from(["x" * 199, "é" * 99, "#" * 60, "🦊"]), min_size=1, max_size=8))
def test_every_path_that_is_accepted_fits_a_key_and_no_other_does(names: list[str]) -> None:
    size = len(PATH_KEY.render({"path": tuple(names)}).encode())
    if size - len("PATH#") <= MAX_PATH_BYTES:
        assert checked_path(names, "path") == tuple(names)
        assert size <= MAX_SORT_KEY_BYTES
        return
    with pytest.raises(BadInput) as raised:
        checked_path(names, "path")
    assert raised.value.extensions == {"field": "path"}


@given(PATHS, PATHS)
def test_a_path_is_within_another_exactly_if_it_begins_with_its_names(
    path: tuple[str, ...], root: tuple[str, ...]
) -> None:
    assert is_within(path, root) == (list(path)[: len(root)] == list(root))
    assert is_within(root + path, root)
    assert not is_within(root, root + path)
