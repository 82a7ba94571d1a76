"""An id has the prefix of its type, and no other text is accepted as an id."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfence.errors import BadInput
from keyfence.store.ids import checked_id, new_id, prefix_of
from keyfence.store.key_template import escape

GOOD = "usr_01JCZXS9QW5E7R2T4Y6V8B0N1M"


def test_new_ids_are_well_formed_distinct_and_the_same_in_a_key() -> None:
    ids = [new_id("usr") for _ in range(100)]
    assert len(set(ids)) == 100
    assert all(checked_id("usr", id) == id == escape(id) for id in ids)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "usr_",
        "usr",
        GOOD[:-1],
        GOOD + "0",
        GOOD + "\n",
        " " + GOOD,
        GOOD.lower(),
        GOOD.upper(),
        GOOD.replace("_", "-"),
        GOOD.replace("01J", "81J"),
        GOOD.replace("C", "I"),
        GOOD.replace("C", "L"),
        GOOD.replace("C", "O"),
        GOOD.replace("C", "U"),
        GOOD.replace("0", "\u0660"),
        GOOD.replace("usr", "u"),
        GOOD.replace("usr", "u#r"),
    ],
)
def test_a_text_that_is_not_an_id_is_refused(text: str) -> None:
    assert prefix_of(text) is None
    with pytest.raises(BadInput) as raised:
        checked_id("usr", text, "userId")
    assert raised.value.extensions == {"field": "userId"}


def test_an_id_of_another_type_is_refused() -> None:
    assert prefix_of(GOOD) == "usr"
    with pytest.raises(BadInput):
        checked_id("grp", GOOD)


@given(st.text(st.characters()))
def test_the_prefix_of_any_text_is_none_or_the_text_before_the_underscore(text: str) -> None:
    assert prefix_of(text) in {None, text[: text.find("_")]}
