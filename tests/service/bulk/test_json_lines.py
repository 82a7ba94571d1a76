"""Formatting of lines, and the fields in which two lines differ."""

from keyfence.bulk.json_lines import encode_line, new_line
from keyfence.bulk.line_differences import differing_fields


def test_nulls_are_left_out() -> None:
    assert encode_line(new_line("customer", id="1", email=None)) == b'{"type":"customer","id":"1"}\n'


def test_each_difference_has_a_path_and_both_values() -> None:
    left = {"a": 1, "b": [{"c": 1}, {"c": 2}], "d": [1], "e": 5}
    right = {"a": 1, "b": [{"c": 1}, {"c": 3}], "d": [1, 2], "f": 6}
    assert list(differing_fields(left, right)) == [
        ("b[1].c", 2, 3),
        ("d", [1], [1, 2]),
        ("e", 5, None),
        ("f", None, 6),
    ]
    assert list(differing_fields(left, left)) == []
