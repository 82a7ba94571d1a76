"""An item weighs what DynamoDB says that it weighs."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfence.store.codec import OVERHEAD, item_bytes

SIZES: list[tuple[dict[str, Any], int]] = [
    ({"S": ""}, 0),
    ({"S": "abc"}, 3),
    ({"S": "é😀"}, 6),
    ({"N": "0"}, 1),
    ({"N": "1"}, 2),
    ({"N": "12"}, 2),
    ({"N": "123"}, 3),
    ({"N": "1200"}, 2),
    ({"N": "0.0012"}, 2),
    ({"N": "-12"}, 3),
    ({"N": "12345678901234567890123456789012345678"}, 20),
    ({"B": "AAECAw=="}, 4),
    ({"BOOL": True}, 1),
    ({"NULL": True}, 1),
    ({"SS": ["ab", "c"]}, 3),
    ({"NS": ["1", "123"]}, 5),
    ({"BS": ["AAEC", "AA=="]}, 4),
    ({"L": []}, 3),
    ({"L": [{"S": "ab"}, {"BOOL": True}]}, 8),
    ({"M": {}}, 3),
    ({"M": {"key": {"S": "ab"}}}, 9),
    ({"M": {"a": {"L": [{"M": {}}]}}}, 12),
]


@pytest.mark.parametrize(("value", "size"), SIZES, ids=str)
def test_a_value_weighs_its_content(value: dict[str, Any], size: int) -> None:
    assert item_bytes({"name": value}) == OVERHEAD + 4 + size


def test_the_names_of_attributes_weigh_too() -> None:
    assert item_bytes({}) == 100
    assert item_bytes({"PK": {"S": "ab"}, "größe": {"S": ""}}) == 100 + 4 + 7


@given(st.dictionaries(st.text(max_size=5), st.text(max_size=20)))
def test_an_item_weighs_the_sum_of_its_attributes(texts: dict[str, str]) -> None:
    whole = item_bytes({name: {"S": text} for name, text in texts.items()})
    assert whole - OVERHEAD == sum(item_bytes({name: {"S": text}}) - OVERHEAD for name, text in texts.items())
