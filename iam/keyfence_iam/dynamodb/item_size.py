"""The bytes that DynamoDB counts for an item when it is read, written or stored."""

from collections.abc import Callable, Mapping
from typing import Any

Item = Mapping[str, Any]

UNKNOWN_NEW_VALUE = "unknown new value"
"""Takes the place of an attribute type such as `S` if the new value is not known, because DynamoDB computes it.

The attribute value is then `{UNKNOWN_NEW_VALUE: <old value>}`. Its size is assumed to be the size of the old value.
"""

STORAGE_OVERHEAD = 100
"""Bytes that are billed for the storage of each item, in addition to its names and values."""

CONTAINER_OVERHEAD = 3
"""Bytes that DynamoDB counts for each list and map."""
ELEMENT_OVERHEAD = 1
"""Bytes that DynamoDB counts for each element of a list or map."""


def stored_size(item: Item) -> int:
    """Returns the bytes of an item as they are billed for storage."""
    return STORAGE_OVERHEAD + item_size(item)


def item_size(item: Item | None) -> int:
    """Returns the bytes of all names and values, from which capacity units are computed. Returns 0 for None."""
    return sum(len(name.encode()) + _value_size(value) for name, value in item.items()) if item else 0


def _value_size(value: object) -> int:
    """Returns the bytes of an attribute value. Returns 0 for a malformed value, which DynamoDB rejects anyway."""
    if not isinstance(value, Mapping) or len(value) != 1:
        return 0
    ((attribute_type, content),) = value.items()
    python_type, size_of = _SIZES.get(attribute_type, _UNKNOWN_TYPE)
    return size_of(content) if isinstance(content, python_type) else 0


def _string_size(text: str) -> int:
    return len(text.encode())


def _number_size(text: str) -> int:
    """Returns one byte for every two significant digits, one byte in addition, and one for a minus sign."""
    digits = text.lower().partition("e")[0].lstrip("+-").replace(".", "").strip("0")
    return (len(digits) + 1) // 2 + 1 + (text.startswith("-") and digits != "")


def _binary_size(text: str) -> int:
    """Returns the length of the bytes that the text encodes in base64."""
    return len(text) * 3 // 4 - text[-2:].count("=")


def _one_byte(_: object) -> int:
    return 1


def _set_size(member_size: Callable[[str], int]) -> Callable[[list[object]], int]:
    return lambda members: sum(member_size(member) for member in members if isinstance(member, str))


def _list_size(members: list[object]) -> int:
    return CONTAINER_OVERHEAD + sum(_value_size(member) + ELEMENT_OVERHEAD for member in members)


def _map_size(members: Item) -> int:
    return CONTAINER_OVERHEAD + item_size(members) + ELEMENT_OVERHEAD * len(members)


_UNKNOWN_TYPE: tuple[type, Callable[[Any], int]] = (object, lambda _: 0)
_SIZES: Mapping[str, tuple[type, Callable[[Any], int]]] = {
    "S": (str, _string_size),
    "N": (str, _number_size),
    "B": (str, _binary_size),
    "BOOL": (bool, _one_byte),
    "NULL": (bool, _one_byte),
    "SS": (list, _set_size(_string_size)),
    "NS": (list, _set_size(_number_size)),
    "BS": (list, _set_size(_binary_size)),
    "L": (list, _list_size),
    "M": (dict, _map_size),
    UNKNOWN_NEW_VALUE: (dict, _value_size),
}
"""By attribute type: the Python type that its content must have, and the function that returns its size."""
