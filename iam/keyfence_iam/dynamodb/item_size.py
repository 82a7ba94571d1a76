"""The bytes that DynamoDB counts for an item when it is read, written or stored."""

from collections.abc import Callable, Mapping
from typing import Any

Item = Mapping[str, Any]

UNKNOWN_NEW_VALUE = "unknown new value"
"""Used in place of an attribute type: the old value, where an update stores a value that is not known here.

The new value is counted with the size of the old one.
"""

STORAGE_OVERHEAD = 100
"""Bytes that are billed for the storage of each item, in addition to its names and values."""

CONTAINER = 3
ELEMENT = 1


def stored_size(item: Item) -> int:
    """Return the bytes of an item as they are billed for storage."""
    return STORAGE_OVERHEAD + item_size(item)


def item_size(item: Item | None) -> int:
    """Return the bytes of all names and values, as capacity units count them. A missing item has none."""
    return sum(len(name.encode()) + _value(value) for name, value in item.items()) if item else 0


def _value(value: object) -> int:
    """Return the bytes of an attribute value, and 0 for a malformed one, which DynamoDB rejects anyway."""
    if not isinstance(value, Mapping) or len(value) != 1:
        return 0
    ((kind, content),) = value.items()
    expected, size = _SIZES.get(kind, _NOTHING)
    return size(content) if isinstance(content, expected) else 0


def _text(text: str) -> int:
    return len(text.encode())


def _number(text: str) -> int:
    """One byte for two significant digits, one for the number itself, and one for a minus sign."""
    digits = text.lower().partition("e")[0].lstrip("+-").replace(".", "").strip("0")
    return (len(digits) + 1) // 2 + 1 + (text.startswith("-") and digits != "")


def _binary(text: str) -> int:
    return len(text) * 3 // 4 - text[-2:].count("=")


def _one(_: object) -> int:
    return 1


def _set(size: Callable[[str], int]) -> Callable[[list[object]], int]:
    return lambda members: sum(size(one) for one in members if isinstance(one, str))


def _list(members: list[object]) -> int:
    return CONTAINER + sum(_value(one) + ELEMENT for one in members)


def _map(members: Item) -> int:
    return CONTAINER + item_size(members) + ELEMENT * len(members)


_NOTHING: tuple[type, Callable[[Any], int]] = (object, lambda _: 0)
_SIZES: Mapping[str, tuple[type, Callable[[Any], int]]] = {
    "S": (str, _text),
    "N": (str, _number),
    "B": (str, _binary),
    "BOOL": (bool, _one),
    "NULL": (bool, _one),
    "SS": (list, _set(_text)),
    "NS": (list, _set(_number)),
    "BS": (list, _set(_binary)),
    "L": (list, _list),
    "M": (dict, _map),
    UNKNOWN_NEW_VALUE: (dict, _value),
}
