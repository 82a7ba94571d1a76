"""Items have the sizes that DynamoDB documents."""

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyfence_iam.dynamodb.item_size import UNKNOWN_NEW_VALUE, item_size, stored_size


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ({"S": ""}, 0),
        ({"S": "abc"}, 3),
        ({"S": "ä€😀"}, 9),
        ({"S": "é😀"}, 6),
        ({"N": "0"}, 1),
        ({"N": "7"}, 2),
        ({"N": "42"}, 2),
        ({"N": "-42"}, 3),
        ({"N": "1200"}, 2),
        ({"N": "123"}, 3),
        ({"N": "0.0012"}, 2),
        ({"N": "0.00123"}, 3),
        ({"N": "1.5E+10"}, 2),
        ({"N": "-0"}, 1),
        ({"N": "12345678901234567890123456789012345678"}, 20),
        ({"B": base64.b64encode(b"12345").decode()}, 5),
        ({"B": base64.b64encode(b"123456").decode()}, 6),
        ({"B": base64.b64encode(b"1234").decode()}, 4),
        ({"BOOL": False}, 1),
        ({"BOOL": True}, 1),
        ({"NULL": True}, 1),
        ({"SS": ["ab", "cde"]}, 5),
        ({"NS": ["1", "-200"]}, 5),
        ({"NS": ["1", "123"]}, 5),
        ({"BS": ["MTIz"]}, 3),
        ({"BS": ["AAEC", "AA=="]}, 4),
        ({"L": []}, 3),
        ({"L": [{"S": "ab"}, {"BOOL": True}]}, 3 + 3 + 2),
        ({"M": {}}, 3),
        ({"M": {"name": {"S": "ab"}}}, 3 + 4 + 2 + 1),
        ({"M": {"a": {"L": [{"M": {}}]}}}, 12),
        ({"L": [{"M": {"n": {"L": [{"N": "1"}]}}}]}, 3 + 1 + (3 + 1 + 1 + (3 + 1 + 2))),
    ],
    ids=str,
)
def test_a_value_has_its_documented_size(value: dict[str, Any], size: int) -> None:
    assert item_size({"attribute": value}) == len("attribute") + size
    assert stored_size({"attribute": value}) == 100 + len("attribute") + size


def test_names_count_in_bytes_and_only_storage_adds_an_overhead() -> None:
    item = {"é": {"S": "a"}, "b": {"S": "c"}}
    assert (item_size(item), stored_size(item)) == (2 + 1 + 1 + 1, 105)
    assert (item_size({}), stored_size({})) == (0, 100)
    assert item_size(None) == 0


@given(st.dictionaries(st.text(max_size=5), st.text(max_size=20)))
def test_the_size_of_an_item_is_the_sum_of_its_attributes(texts: dict[str, str]) -> None:
    item = {name: {"S": text} for name, text in texts.items()}
    assert item_size(item) == sum(item_size({name: value}) for name, value in item.items())


def test_an_unknown_new_value_has_the_size_of_the_old_one() -> None:
    assert item_size({"a": {UNKNOWN_NEW_VALUE: {"S": "four"}}}) == 5
    assert item_size({"a": {UNKNOWN_NEW_VALUE: None}}) == 1


@pytest.mark.parametrize(
    "malformed",
    [None, 1, {}, {"S": 1}, {"S": "a", "N": "1"}, {"X": "a"}, {"L": "abc"}, {"M": []}, {"SS": [1]}, {"N": "x"}],
    ids=str,
)
def test_a_malformed_value_raises_nothing(malformed: object) -> None:
    assert item_size({"a": malformed}) in range(1, 5)
