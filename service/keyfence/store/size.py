"""How many bytes DynamoDB counts for an item."""

import base64
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from keyfence.store.codec import Item, Value

OVERHEAD = 100
"""What the storage of an item costs beside the item."""

CONTAINER = 3
ELEMENT = 1


def item_bytes(item: Item) -> int:
    """As it is billed for storage: names, values and the overhead."""
    return OVERHEAD + _attributes(item)


def _attributes(attributes: Mapping[str, Value]) -> int:
    return sum(_text(name) + _value(value) for name, value in attributes.items())


def _value(value: Value) -> int:
    ((kind, content),) = value.items()
    return _SIZES[kind](content)


def _text(text: str) -> int:
    return len(text.encode())


def _number(text: str) -> int:
    """A byte for two digits that count, one for the number itself and one for a minus."""
    number = Decimal(text)
    digits = "".join(map(str, number.as_tuple().digits)).strip("0")
    return (len(digits) + 1) // 2 + 1 + (number < 0)


def _binary(text: str) -> int:
    return len(base64.b64decode(text))


def _one(_: object) -> int:
    return 1


def _set(size: Callable[[str], int]) -> Callable[[list[str]], int]:
    return lambda members: sum(map(size, members))


def _list(values: list[Value]) -> int:
    return CONTAINER + sum(_value(value) + ELEMENT for value in values)


def _map(values: Mapping[str, Value]) -> int:
    return CONTAINER + _attributes(values) + ELEMENT * len(values)


_SIZES: Mapping[str, Callable[[Any], int]] = {
    "S": _text,
    "N": _number,
    "B": _binary,
    "BOOL": _one,
    "NULL": _one,
    "SS": _set(_text),
    "NS": _set(_number),
    "BS": _set(_binary),
    "L": _list,
    "M": _map,
}
