"""A template gives different values different keys, or is refused when it is declared."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from keyfence.errors import BadInput
from keyfence.store.key_template import BadTemplate, KeyTemplate
from tests.data.model_strategies import TEXT, cuts


def render_key(template: str, **values: Any) -> str:
    return KeyTemplate.parse(template).render(values)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "#",
        "USER#",
        "#USER",
        "USER##{id}",
        "USER#{id}{name}",
        "USER#{id}-{name}",
        "USER#{id}name",
        "USER#id={id}",
        "USER#ab{id}",
        "USER#V{id}",
        "USER#{}",
        "USER#{Id}",
        "USER#{id!r}",
        "USER#{id.name}",
        "USER#{id[0]}",
        "USER#{id:}",
        "USER#{id:{width}}",
        "USER {id}",
        "USER\n",
        "USER#{id}\n",
        "USÉR#{id}",
        "1USER",
        "USER%23",
    ],
)
def test_a_segment_that_is_neither_a_tag_nor_a_field_is_refused(text: str) -> None:
    with pytest.raises(BadTemplate):
        KeyTemplate.parse(text)


@pytest.mark.parametrize("spec", ["mnth", "year", "x", "d", "10d", "0d", ".2f", "10.2f", "010f", "010.2", "010e", "s"])
def test_a_field_that_is_neither_bucketed_nor_zero_padded_to_a_width_is_refused(spec: str) -> None:
    with pytest.raises(BadTemplate):
        KeyTemplate.parse(f"USER#{{field:{spec}}}")


@given(cuts() | st.tuples(st.tuples(TEXT, TEXT), st.tuples(TEXT, TEXT)))
@example((("a", "bc"), ("ab", "c")))
@example((("a", "b#c"), ("a#b", "c")))
@example((("a%23", "b"), ("a#", "b")))
@pytest.mark.parametrize("template", ["A#{a}#{b}", "{a}#{b}", "A#{a}#B#{b}", "v{a}#{b}"])
def test_two_different_pairs_of_values_never_make_one_key(
    template: str, pairs: tuple[tuple[str, str], tuple[str, str]]
) -> None:
    keys = [render_key(template, a=a, b=b) for a, b in pairs]
    assert (keys[0] == keys[1]) == (pairs[0] == pairs[1])


@given(st.tuples(TEXT, TEXT), st.tuples(TEXT, TEXT))
def test_pairs_of_values_without_del_sort_by_the_first_and_then_by_the_second(
    one: tuple[str, str], other: tuple[str, str]
) -> None:
    pairs = [(a.replace("\x7f", "~"), b.replace("\x7f", "~")) for a, b in (one, other)]
    keys = [render_key("{a}#{b}#END", a=a, b=b) for a, b in pairs]
    assert (keys[0] < keys[1]) == (pairs[0] < pairs[1])


def test_an_empty_text_is_refused_by_the_name_of_its_field() -> None:
    with pytest.raises(BadInput) as raised:
        render_key("SKU#{sku}", sku="")
    assert raised.value.extensions == {"field": "sku"}


@pytest.mark.parametrize("value", [None, True, 1.5, b"raw", ("a",), frozenset({"a"})])
def test_a_value_without_an_order_as_text_cannot_be_in_a_key(value: object) -> None:
    for template in ("A#{a}", "A#{a:03d}"):
        with pytest.raises(TypeError):
            render_key(template, a=value)
