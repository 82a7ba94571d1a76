"""Typed access to the parameters of a call. A parameter of the wrong type raises UnsupportedRequest."""

from collections.abc import Mapping
from typing import Any

Parameters = Mapping[str, Any]

ATTRIBUTE_TYPES = frozenset({"S", "N", "B", "SS", "NS", "BS", "M", "L", "NULL", "BOOL"})


class UnsupportedRequest(Exception):
    """The request must be denied, since it is not certain what the request would do."""


def string(parameters: Parameters, name: str) -> str:
    value = parameters.get(name)
    if isinstance(value, str):
        return value
    raise UnsupportedRequest(f"{name} is not a string")


def optional_string(parameters: Parameters, name: str) -> str | None:
    return None if parameters.get(name) is None else string(parameters, name)


def strings(parameters: Parameters, name: str) -> list[str]:
    values = array(parameters, name)
    if not all(isinstance(value, str) for value in values):
        raise UnsupportedRequest(f"{name} has an element that is not a string")
    return values


def array(parameters: Parameters, name: str) -> list[Any]:
    value = parameters.get(name)
    if isinstance(value, list):
        return value
    raise UnsupportedRequest(f"{name} is not a list")


def mapping(parameters: Parameters, name: str) -> Mapping[str, Any]:
    return as_mapping(parameters.get(name), name)


def optional_mapping(parameters: Parameters, name: str) -> Mapping[str, Any]:
    return {} if parameters.get(name) is None else mapping(parameters, name)


def as_mapping(value: object, name: str) -> Mapping[str, Any]:
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return value
    raise UnsupportedRequest(f"{name} is not a map")


def choice(parameters: Parameters, name: str, choices: frozenset[str], default: str) -> str:
    """Returns a parameter that must be one of the choices, or the default if the call does not have it."""
    value = parameters.get(name)
    if value is None:
        return default
    if isinstance(value, str) and value in choices:
        return value
    raise UnsupportedRequest(f"{name} is not one of {', '.join(sorted(choices))}")


def attributes(parameters: Parameters, name: str) -> Mapping[str, Any]:
    """Returns a map of attribute values. Each value must have exactly one type."""
    values = mapping(parameters, name)
    for value in values.values():
        attribute_value(value, name)
    return values


def optional_attributes(parameters: Parameters, name: str) -> Mapping[str, Any]:
    return {} if parameters.get(name) is None else attributes(parameters, name)


def attribute_value(value: object, name: str) -> Mapping[str, Any]:
    if isinstance(value, Mapping) and len(value) == 1 and ATTRIBUTE_TYPES.issuperset(value):
        return value
    raise UnsupportedRequest(f"{name} has a value that is not of the form {{type: value}}, such as {{'S': 'text'}}")


def reject_unknown(parameters: Parameters, known: frozenset[str], path: str) -> None:
    """Raises UnsupportedRequest for a parameter that is not known, since its effect is not known either."""
    for name in parameters:
        if name not in known:
            raise UnsupportedRequest(f"{path}: unknown parameter {name!r}")


def key_string(value: object) -> str:
    """Returns the value of a partition key. Raises UnsupportedRequest unless it is a string that is not empty.

    A string with a lone surrogate is rejected too, since it has no UTF-8 form.
    Numbers and binary values are rejected because AWS does not document how IAM compares them. An empty string is
    rejected because IAM could treat it as no value.
    """
    text = attribute_value(value, "a partition key").get("S")
    if not isinstance(text, str) or not text:
        raise UnsupportedRequest("the partition key is not a string, or is empty")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise UnsupportedRequest("the partition key has a lone surrogate, which is half a character") from None
    return text
