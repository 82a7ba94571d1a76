"""How many bytes DynamoDB counts for an item when it is read or written."""

from collections.abc import Callable, Mapping
from typing import Any

Item = Mapping[str, Any]

UNKNOWN_NEW_VALUE = "altered"
"""Stands where a type stands: a value that is about to become another one, which is not known and counted as it was."""

CONTAINER = 3
ELEMENT = 1


def item_size(item: Item | None) -> int:
    """Names and values, without what storage adds."""
    return sum(len(name.encode()) + _value(value) for name, value in item.items()) if item else 0


def _value(value: object) -> int:
    """What is no value weighs nothing: the engine refuses it anyway."""
    if not isinstance(value, Mapping) or len(value) != 1:
        return 0
    ((kind, content),) = value.items()
    expected, size = _SIZES.get(kind, _NOTHING)
    return size(content) if isinstance(content, expected) else 0


def _text(text: str) -> int:
    return len(text.encode())


def _number(text: str) -> int:
    """A byte for two digits that count, one for the number itself and one for a minus."""
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
