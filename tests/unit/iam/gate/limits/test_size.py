"""Items weigh what DynamoDB says that they weigh."""

import base64
from typing import Any

import pytest

from keyfence_iam.dynamodb.item_size import UNKNOWN_NEW_VALUE, item_size


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ({"S": ""}, 0),
        ({"S": "abc"}, 3),
        ({"S": "ä€😀"}, 9),
        ({"N": "0"}, 1),
        ({"N": "7"}, 2),
        ({"N": "42"}, 2),
        ({"N": "-42"}, 3),
        ({"N": "1200"}, 2),
        ({"N": "123"}, 3),
        ({"N": "0.00123"}, 3),
        ({"N": "1.5E+10"}, 2),
        ({"N": "-0"}, 1),
        ({"B": base64.b64encode(b"12345").decode()}, 5),
        ({"B": base64.b64encode(b"123456").decode()}, 6),
        ({"B": base64.b64encode(b"1234").decode()}, 4),
        ({"BOOL": False}, 1),
        ({"NULL": True}, 1),
        ({"SS": ["ab", "cde"]}, 5),
        ({"NS": ["1", "-200"]}, 5),
        ({"BS": ["MTIz"]}, 3),
        ({"L": []}, 3),
        ({"L": [{"S": "ab"}, {"BOOL": True}]}, 3 + 3 + 2),
        ({"M": {}}, 3),
        ({"M": {"name": {"S": "ab"}}}, 3 + 4 + 2 + 1),
        ({"L": [{"M": {"n": {"L": [{"N": "1"}]}}}]}, 3 + 1 + (3 + 1 + 1 + (3 + 1 + 2))),
    ],
    ids=str,
)
def test_a_value_weighs_as_documented(value: dict[str, Any], size: int) -> None:
    assert item_size({"attribute": value}) == len("attribute") + size


def test_names_count_in_bytes_and_nothing_is_added_for_the_item() -> None:
    assert item_size({"é": {"S": "a"}, "b": {"S": "c"}}) == 2 + 1 + 1 + 1
    assert item_size(None) == 0
    assert item_size({}) == 0


def test_a_value_that_is_not_known_yet_weighs_what_it_weighed() -> None:
    assert item_size({"a": {UNKNOWN_NEW_VALUE: {"S": "four"}}}) == 5
    assert item_size({"a": {UNKNOWN_NEW_VALUE: None}}) == 1


@pytest.mark.parametrize(
    "nonsense",
    [None, 1, {}, {"S": 1}, {"S": "a", "N": "1"}, {"X": "a"}, {"L": "abc"}, {"M": []}, {"SS": [1]}, {"N": "x"}],
    ids=str,
)
def test_what_is_no_value_is_weighed_without_complaint(nonsense: object) -> None:
    assert item_size({"a": nonsense}) in range(1, 5)
