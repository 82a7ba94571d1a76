"""Attributes that a request mentions, and what an update does to them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from keyfence_iam.dynamodb.expressions.expression import parse_condition, parse_projection, parse_update
from keyfence_iam.dynamodb.item_size import UNKNOWN_NEW_VALUE, Item
from keyfence_iam.dynamodb.parameters import (
    Parameters,
    UnsupportedRequest,
    as_mapping,
    attributes,
    mapping,
    optional_attributes,
    optional_mapping,
    string,
    strings,
)

_EXPRESSIONS: Mapping[str, Callable[[str], Iterable[str]]] = {
    "KeyConditionExpression": lambda written: parse_condition(written).attributes,
    "FilterExpression": lambda written: parse_condition(written).attributes,
    "ConditionExpression": lambda written: parse_condition(written).attributes,
    "UpdateExpression": lambda written: parse_update(written).attributes,
    "ProjectionExpression": parse_projection,
}
_LEGACY_MAPS = ("KeyConditions", "QueryFilter", "ScanFilter", "Expected", "AttributeUpdates")
_LEGACY = (*_LEGACY_MAPS, "AttributesToGet", "ConditionalOperator")
_ITEMS = ("Key", "Item")


def mentioned_attributes(call: Parameters) -> tuple[str, ...]:
    """Each once: what stands in a path is its first part, what stands behind an alias is its name."""
    return tuple(dict.fromkeys(_mentioned(call)))


def resolve(name: str, call: Parameters) -> str:
    """An attribute's name, where an alias may stand for it."""
    if not name.startswith("#"):
        return name
    found = optional_mapping(call, "ExpressionAttributeNames").get(name)
    if not isinstance(found, str):
        raise UnsupportedRequest(f"{name} is not among the attribute names")
    return found


def changed_attributes(call: Parameters) -> set[str]:
    """The attributes that an update changes, in either form."""
    found = set(optional_mapping(call, "AttributeUpdates"))
    if call.get("UpdateExpression") is not None:
        found.update(resolve(root, call) for root in parse_update(string(call, "UpdateExpression")).changed)
    return found


def has_projection(call: Parameters) -> bool:
    return call.get("ProjectionExpression") is not None or call.get("AttributesToGet") is not None


def _mentioned(call: Parameters) -> Iterator[str]:
    _check_placeholders(call)
    written = [name for name in _EXPRESSIONS if call.get(name) is not None]
    legacy = [name for name in _LEGACY if call.get(name) is not None]
    if written and legacy:
        raise UnsupportedRequest(f"both {written[0]} and {legacy[0]}")
    for name in _ITEMS:
        if name in call:
            yield from attributes(call, name)
    for name in written:
        yield from (resolve(root, call) for root in _EXPRESSIONS[name](string(call, name)))
    for name in legacy:
        yield from _legacy(call, name)


def _check_placeholders(call: Parameters) -> None:
    """A name without its mark would stand for an attribute here and for a placeholder in a lenient engine."""
    for name in optional_mapping(call, "ExpressionAttributeNames"):
        if not name.startswith("#"):
            raise UnsupportedRequest("a placeholder for a name begins with '#'")
    for name in optional_attributes(call, "ExpressionAttributeValues"):
        if not name.startswith(":"):
            raise UnsupportedRequest("a placeholder for a value begins with ':'")


def _legacy(call: Parameters, name: str) -> Iterable[str]:
    if name == "AttributesToGet":
        return strings(call, name)
    if name == "ConditionalOperator":
        return ()
    found = mapping(call, name)
    for one in found.values():
        as_mapping(one, name)
    return found


class AttributeChange(NamedTuple):
    """An attribute and its new value; None removes it, and `...` is one that is not known here."""

    attribute: str
    value: Any


def attribute_changes(call: Parameters) -> Iterator[AttributeChange]:
    if call.get("UpdateExpression") is not None:
        yield from _expressed(call)
    for name, change in optional_mapping(call, "AttributeUpdates").items():
        yield AttributeChange(name, _legacy_changes(as_mapping(change, name)))


def apply_changes(item: Item, changed: tuple[AttributeChange, ...]) -> Item:
    after = dict(item)
    for attribute, value in changed:
        if value is None:
            after.pop(attribute, None)
        else:
            after[attribute] = {UNKNOWN_NEW_VALUE: item.get(attribute)} if value is ... else value
    return after


def _expressed(call: Parameters) -> Iterator[AttributeChange]:
    values, read = optional_mapping(call, "ExpressionAttributeValues"), parse_update(string(call, "UpdateExpression"))
    stored = {one.attribute: values.get(one.placeholder, ...) if one.placeholder else ... for one in read.assignments}
    gone = dict.fromkeys(read.removed)
    for root in dict.fromkeys(read.changed):
        yield AttributeChange(resolve(root, call), stored[root] if root in stored else gone.get(root, ...))


def _legacy_changes(change: Parameters) -> Any:
    match change.get("Action", "PUT"), change.get("Value"):
        case "PUT", value if value is not None:
            return value
        case "DELETE", None:
            return None
    return ...
