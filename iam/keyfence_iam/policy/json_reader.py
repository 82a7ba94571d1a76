"""Typed access to the JSON of a policy. Each error message begins with the JSON path of the wrong value."""

import re
from collections.abc import Mapping
from typing import Any, NoReturn

_ALLOWED_CHARACTERS = re.compile(r"[\t\n\r\x20-\xff]*")


class InvalidPolicy(ValueError):
    """IAM would not accept the policy. The message begins with the JSON path of the wrong value."""


def fail(path: str, problem: str) -> NoReturn:
    raise InvalidPolicy(f"{path}: {problem}")


def known_members(value: object, path: str, known_names: frozenset[str]) -> Mapping[str, Any]:
    """Returns a JSON object. Raises InvalidPolicy if it has a member whose name is not known."""
    members = mapping(value, path)
    for name in members:
        if name not in known_names:
            fail(f"{path}.{printable(name)}", "unknown element")
    return members


def mapping(value: object, path: str) -> Mapping[str, Any]:
    """Returns the value. Raises InvalidPolicy if it is not a JSON object."""
    if not isinstance(value, Mapping):
        fail(path, f"must be an object, not {json_type(value)}")
    for name in value:
        if not isinstance(name, str):
            fail(path, f"the key {name!r} is not a string")
    return value


def items_with_path(value: object, path: str, *, allow_empty: bool = False) -> list[tuple[Any, str]]:
    """Returns the items of a list with their JSON paths. A value that is not a list counts as a list of one item.

    Raises InvalidPolicy if the list is empty, unless `allow_empty` is set.
    """
    if not isinstance(value, list | tuple):
        return [(value, path)]
    if not value and not allow_empty:
        fail(path, "the list is empty")
    return [(item, f"{path}[{index}]") for index, item in enumerate(value)]


def strings(elements: Mapping[str, Any], name: str, path: str, *, allow_empty: bool = False) -> list[tuple[str, str]]:
    """Returns the strings of an element with their paths, or an empty list if the element is missing."""
    if name not in elements:
        return []
    return [
        (string(item, item_path), item_path)
        for item, item_path in items_with_path(elements[name], f"{path}.{name}", allow_empty=allow_empty)
    ]


def string(value: object, path: str) -> str:
    """Returns the value. Raises InvalidPolicy if it is not a string, or has a character that IAM does not accept."""
    if not isinstance(value, str):
        fail(path, f"must be a string, not {json_type(value)}")
    if not _ALLOWED_CHARACTERS.fullmatch(value):
        fail(path, "has characters other than tab, line ends and U+0020 to U+00FF")
    return value


def json_type(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    return "a string" if isinstance(value, str) else "a list" if isinstance(value, list | tuple) else "an object"


def printable(name: str) -> str:
    """Returns the first 60 characters of a name for an error message. Escapes are used if one is not printable."""
    return name[:60] if name.isprintable() else ascii(name[:60])
