"""Places in a policy document, and the refusals that name them."""

import re
from collections.abc import Mapping
from typing import Any, NoReturn

_CHARACTERS = re.compile(r"[\t\n\r\x20-\xff]*")


class InvalidPolicy(ValueError):
    """A document that IAM would not accept; the message begins with the place."""


def fail(where: str, problem: str) -> NoReturn:
    raise InvalidPolicy(f"{where}: {problem}")


def known_members(value: object, where: str, known: frozenset[str]) -> Mapping[str, Any]:
    """An object that has none but known elements."""
    found = mapping(value, where)
    for name in found:
        if name not in known:
            fail(f"{where}.{printable(name)}", "unknown element")
    return found


def mapping(value: object, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        fail(where, f"an object is wanted, not {json_type(value)}")
    for name in value:
        if not isinstance(name, str):
            fail(where, f"the key {name!r} is not a text")
    return value


def items_with_path(value: object, where: str, *, allow_empty: bool = False) -> list[tuple[Any, str]]:
    """The items of a list with their places; an item that stands alone is a list of one."""
    if not isinstance(value, list | tuple):
        return [(value, where)]
    if not value and not allow_empty:
        fail(where, "the list is empty")
    return [(item, f"{where}[{index}]") for index, item in enumerate(value)]


def strings(written: Mapping[str, Any], name: str, where: str, *, allow_empty: bool = False) -> list[tuple[str, str]]:
    """The texts of an element with their places; none if it is not there."""
    if name not in written:
        return []
    return [
        (string(item, place), place)
        for item, place in items_with_path(written[name], f"{where}.{name}", allow_empty=allow_empty)
    ]


def string(value: object, where: str) -> str:
    if not isinstance(value, str):
        fail(where, f"a text is wanted, not {json_type(value)}")
    if not _CHARACTERS.fullmatch(value):
        fail(where, "has characters other than tab, line ends and U+0020 to U+00FF")
    return value


def json_type(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a truth value"
    if isinstance(value, int | float):
        return "a number"
    return "a text" if isinstance(value, str) else "a list" if isinstance(value, list | tuple) else "an object"


def printable(name: str) -> str:
    """A name as it may stand in a message: short, and printable."""
    return name[:60] if name.isprintable() else ascii(name[:60])
