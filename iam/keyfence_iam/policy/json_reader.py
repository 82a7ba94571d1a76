"""Typed reads of a JSON value. Each error names the JSON path of the value."""

import re
from collections.abc import Mapping
from typing import Any, NoReturn

_CHARACTERS = re.compile(r"[\t\n\r\x20-\xff]*")


class InvalidPolicy(ValueError):
    """IAM does not accept the document. The message begins with a JSON path."""


def fail(path: str, problem: str) -> NoReturn:
    raise InvalidPolicy(f"{path}: {problem}")


def known_members(value: object, path: str, known: frozenset[str]) -> Mapping[str, Any]:
    """Returns an object. Fails if it has a member that is not known."""
    found = mapping(value, path)
    for name in found:
        if name not in known:
            fail(f"{path}.{printable(name)}", "unknown element")
    return found


def mapping(value: object, path: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        fail(path, f"must be an object, not {json_type(value)}")
    for name in value:
        if not isinstance(name, str):
            fail(path, f"the key {name!r} is not a string")
    return value


def items_with_path(value: object, path: str, *, allow_empty: bool = False) -> list[tuple[Any, str]]:
    """Returns the items of a list with their paths. A value that is not a list counts as a list of one."""
    if not isinstance(value, list | tuple):
        return [(value, path)]
    if not value and not allow_empty:
        fail(path, "the list is empty")
    return [(item, f"{path}[{index}]") for index, item in enumerate(value)]


def strings(elements: Mapping[str, Any], name: str, path: str, *, allow_empty: bool = False) -> list[tuple[str, str]]:
    """Returns the strings of an element with their paths, or none if the element is missing."""
    if name not in elements:
        return []
    return [
        (string(item, place), place)
        for item, place in items_with_path(elements[name], f"{path}.{name}", allow_empty=allow_empty)
    ]


def string(value: object, path: str) -> str:
    if not isinstance(value, str):
        fail(path, f"must be a string, not {json_type(value)}")
    if not _CHARACTERS.fullmatch(value):
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
    """Returns a name for an error message: at most 60 characters, all of them printable."""
    return name[:60] if name.isprintable() else ascii(name[:60])
