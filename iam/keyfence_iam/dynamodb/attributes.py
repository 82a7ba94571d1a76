"""The attributes that a request mentions, and what an update does to them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from keyfence_iam.dynamodb.expressions.expression_parser import parse_condition, parse_projection, parse_update
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
    "KeyConditionExpression": lambda text: parse_condition(text).attributes,
    "FilterExpression": lambda text: parse_condition(text).attributes,
    "ConditionExpression": lambda text: parse_condition(text).attributes,
    "UpdateExpression": lambda text: parse_update(text).attributes,
    "ProjectionExpression": parse_projection,
}
_LEGACY_MAPS = ("KeyConditions", "QueryFilter", "ScanFilter", "Expected", "AttributeUpdates")
_LEGACY_PARAMETERS = (*_LEGACY_MAPS, "AttributesToGet", "ConditionalOperator")
_ITEM_PARAMETERS = ("Key", "Item")


class AttributeChange(NamedTuple):
    """An attribute and its new value. None removes it; `...` is a value that is not known before the update."""

    attribute: str
    value: Any


def mentioned_attributes(call: Parameters) -> tuple[str, ...]:
    """Return each attribute once: the first part of each path, with placeholders replaced by names."""
    return tuple(dict.fromkeys(_mentioned(call)))


def resolve(name: str, call: Parameters) -> str:
    """Return the name of an attribute, which may be a placeholder in ExpressionAttributeNames."""
    if not name.startswith("#"):
        return name
    found = optional_mapping(call, "ExpressionAttributeNames").get(name)
    if not isinstance(found, str):
        raise UnsupportedRequest(f"{name} is missing in ExpressionAttributeNames")
    return found


def changed_attributes(call: Parameters) -> set[str]:
    """Return the attributes that an UpdateExpression or AttributeUpdates changes."""
    changed = set(optional_mapping(call, "AttributeUpdates"))
    if call.get("UpdateExpression") is not None:
        changed.update(resolve(name, call) for name in parse_update(string(call, "UpdateExpression")).changed)
    return changed


def has_projection(call: Parameters) -> bool:
    return call.get("ProjectionExpression") is not None or call.get("AttributesToGet") is not None


def attribute_changes(call: Parameters) -> Iterator[AttributeChange]:
    if call.get("UpdateExpression") is not None:
        yield from _expression_changes(call)
    for name, change in optional_mapping(call, "AttributeUpdates").items():
        yield AttributeChange(name, _legacy_change(as_mapping(change, name)))


def apply_changes(item: Item, changes: tuple[AttributeChange, ...]) -> Item:
    after = dict(item)
    for attribute, value in changes:
        if value is None:
            after.pop(attribute, None)
        else:
            after[attribute] = {UNKNOWN_NEW_VALUE: item.get(attribute)} if value is ... else value
    return after


def _mentioned(call: Parameters) -> Iterator[str]:
    _check_placeholders(call)
    expressions = [name for name in _EXPRESSIONS if call.get(name) is not None]
    legacy = [name for name in _LEGACY_PARAMETERS if call.get(name) is not None]
    if expressions and legacy:
        raise UnsupportedRequest(f"{expressions[0]} and {legacy[0]} exclude each other")
    for name in _ITEM_PARAMETERS:
        if name in call:
            yield from attributes(call, name)
    for name in expressions:
        yield from (resolve(attribute, call) for attribute in _EXPRESSIONS[name](string(call, name)))
    for name in legacy:
        yield from _legacy_attributes(call, name)


def _check_placeholders(call: Parameters) -> None:
    """Check the first character of placeholders.

    A placeholder without it would be an attribute here, and a placeholder to an engine that is less strict.
    """
    for name in optional_mapping(call, "ExpressionAttributeNames"):
        if not name.startswith("#"):
            raise UnsupportedRequest("a key of ExpressionAttributeNames must begin with '#'")
    for name in optional_attributes(call, "ExpressionAttributeValues"):
        if not name.startswith(":"):
            raise UnsupportedRequest("a key of ExpressionAttributeValues must begin with ':'")


def _legacy_attributes(call: Parameters, name: str) -> Iterable[str]:
    if name == "AttributesToGet":
        return strings(call, name)
    if name == "ConditionalOperator":
        return ()
    conditions = mapping(call, name)
    for condition in conditions.values():
        as_mapping(condition, name)
    return conditions


def _expression_changes(call: Parameters) -> Iterator[AttributeChange]:
    values = optional_mapping(call, "ExpressionAttributeValues")
    update = parse_update(string(call, "UpdateExpression"))
    assigned = {
        one.attribute: values.get(one.placeholder, ...) if one.placeholder else ... for one in update.assignments
    }
    removed = dict.fromkeys(update.removed)
    for name in dict.fromkeys(update.changed):
        yield AttributeChange(resolve(name, call), assigned[name] if name in assigned else removed.get(name, ...))


def _legacy_change(change: Parameters) -> Any:
    match change.get("Action", "PUT"), change.get("Value"):
        case "PUT", value if value is not None:
            return value
        case "DELETE", None:
            return None
    return ...
