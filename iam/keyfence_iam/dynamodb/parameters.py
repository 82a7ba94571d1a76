"""Typed reads of untrusted request parameters; `UnsupportedRequest`."""

from collections.abc import Mapping
from typing import Any


class UnsupportedRequest(Exception):
    """What the call asks for is not certain, and so it is denied."""


ATTRIBUTE_TYPES = frozenset({"S", "N", "B", "SS", "NS", "BS", "M", "L", "NULL", "BOOL"})

Parameters = Mapping[str, Any]


def optional_string(holder: Parameters, name: str) -> str | None:
    value = holder.get(name)
    if value is None or isinstance(value, str):
        return value
    raise UnsupportedRequest(f"{name} is not a text")


def string(holder: Parameters, name: str) -> str:
    value = holder.get(name)
    if isinstance(value, str):
        return value
    raise UnsupportedRequest(f"{name} is not a text")


def optional_mapping(holder: Parameters, name: str) -> Mapping[str, Any]:
    return {} if holder.get(name) is None else mapping(holder, name)


def mapping(holder: Parameters, name: str) -> Mapping[str, Any]:
    return as_mapping(holder.get(name), name)


def as_mapping(value: object, name: str) -> Mapping[str, Any]:
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return value
    raise UnsupportedRequest(f"{name} is not a map")


def array(holder: Parameters, name: str) -> list[Any]:
    value = holder.get(name)
    if isinstance(value, list):
        return value
    raise UnsupportedRequest(f"{name} is not a list")


def strings(holder: Parameters, name: str) -> list[str]:
    found = array(holder, name)
    if not all(isinstance(one, str) for one in found):
        raise UnsupportedRequest(f"{name} holds something that is not a text")
    return found


def choice(holder: Parameters, name: str, among: frozenset[str], default: str) -> str:
    value = holder.get(name)
    if value is None:
        return default
    if isinstance(value, str) and value in among:
        return value
    raise UnsupportedRequest(f"{name} is not one of {', '.join(sorted(among))}")


def attributes(holder: Parameters, name: str) -> Mapping[str, Any]:
    """A map of attribute values, each of exactly one type."""
    found = mapping(holder, name)
    for value in found.values():
        attribute_value(value, name)
    return found


def optional_attributes(holder: Parameters, name: str) -> Mapping[str, Any]:
    return {} if holder.get(name) is None else attributes(holder, name)


def attribute_value(value: object, name: str) -> Mapping[str, Any]:
    if isinstance(value, Mapping) and len(value) == 1 and ATTRIBUTE_TYPES.issuperset(value):
        return value
    raise UnsupportedRequest(f"{name} holds what is not an attribute value of one type")


def reject_unknown(holder: Parameters, members: frozenset[str], where: str) -> None:
    """A member nobody knows may mean anything."""
    for name in holder:
        if name not in members:
            raise UnsupportedRequest(f"{where}: unknown parameter {name!r}")


def key_string(value: object) -> str:
    """Numbers and binaries have no documented text, and an empty text would count as no value at all."""
    found = attribute_value(value, "a partition key").get("S")
    if not isinstance(found, str) or not found:
        raise UnsupportedRequest("a partition key that is not a text")
    return whole(found)


def whole(value: str) -> str:
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise UnsupportedRequest("a partition key with half a character (a lone surrogate)") from None
    return value
