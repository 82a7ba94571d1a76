"""The attributes that a call mentions, and the changes that an update makes to them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from keyfence_iam.dynamodb.expressions.expression_parser import parse_condition, parse_projection, parse_update
from keyfence_iam.dynamodb.item_size import UNKNOWN_NEW_VALUE, Item
from keyfence_iam.dynamodb.request_parameters import (
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

_ATTRIBUTE_FINDERS: Mapping[str, Callable[[str], Iterable[str]]] = {
    "KeyConditionExpression": lambda text: parse_condition(text).attributes,
    "FilterExpression": lambda text: parse_condition(text).attributes,
    "ConditionExpression": lambda text: parse_condition(text).attributes,
    "UpdateExpression": lambda text: parse_update(text).attributes,
    "ProjectionExpression": parse_projection,
}
"""The parameters that contain an expression, each with a function that returns the attributes in the expression."""
_LEGACY_PARAMETERS = (
    *("KeyConditions", "QueryFilter", "ScanFilter", "Expected", "AttributeUpdates"),
    *("AttributesToGet", "ConditionalOperator"),
)
"""Parameters that DynamoDB still accepts in place of expressions."""
_ITEM_PARAMETERS = ("Key", "Item")


class AttributeChange(NamedTuple):
    """An attribute and its new value.

    The value None means that the attribute is removed. The value `...` means that DynamoDB computes the new value.
    """

    attribute: str
    value: Any


def mentioned_attributes(call: Parameters) -> tuple[str, ...]:
    """Returns the name of each attribute that the call mentions. No name is repeated.

    For a path such as `#a.b`, the name that `#a` stands for is returned.
    """
    return tuple(dict.fromkeys(_all_mentioned(call)))


def resolve_name(name: str, call: Parameters) -> str:
    """Returns the attribute's name. A `#placeholder` is replaced by its entry in ExpressionAttributeNames.

    Raises UnsupportedRequest if the placeholder has no entry.
    """
    if not name.startswith("#"):
        return name
    attribute = optional_mapping(call, "ExpressionAttributeNames").get(name)
    if not isinstance(attribute, str):
        raise UnsupportedRequest(f"{name} is missing in ExpressionAttributeNames")
    return attribute


def changed_attributes(call: Parameters) -> set[str]:
    """Returns the attributes that an UpdateExpression or AttributeUpdates changes."""
    changed = set(optional_mapping(call, "AttributeUpdates"))
    if call.get("UpdateExpression") is not None:
        update = parse_update(string(call, "UpdateExpression"))
        changed.update(resolve_name(name, call) for name in update.changed_attributes)
    return changed


def has_projection(call: Parameters) -> bool:
    return call.get("ProjectionExpression") is not None or call.get("AttributesToGet") is not None


def attribute_changes(call: Parameters) -> Iterator[AttributeChange]:
    if call.get("UpdateExpression") is not None:
        yield from _expression_changes(call)
    for name, change in optional_mapping(call, "AttributeUpdates").items():
        yield AttributeChange(name, _legacy_new_value(as_mapping(change, name)))


def apply_changes(item: Item, changes: tuple[AttributeChange, ...]) -> Item:
    """Returns the item after an update. A value that DynamoDB computes becomes UNKNOWN_NEW_VALUE."""
    new_item = dict(item)
    for attribute, value in changes:
        if value is None:
            new_item.pop(attribute, None)
        else:
            new_item[attribute] = {UNKNOWN_NEW_VALUE: item.get(attribute)} if value is ... else value
    return new_item


def _all_mentioned(call: Parameters) -> Iterator[str]:
    _check_placeholders(call)
    expressions = [name for name in _ATTRIBUTE_FINDERS if call.get(name) is not None]
    legacy = [name for name in _LEGACY_PARAMETERS if call.get(name) is not None]
    if expressions and legacy:
        raise UnsupportedRequest(f"{expressions[0]} and {legacy[0]} exclude each other")
    for name in _ITEM_PARAMETERS:
        if name in call:
            yield from attributes(call, name)
    for name in expressions:
        yield from (resolve_name(attribute, call) for attribute in _ATTRIBUTE_FINDERS[name](string(call, name)))
    for name in legacy:
        yield from _legacy_attributes(call, name)


def _check_placeholders(call: Parameters) -> None:
    """Raises UnsupportedRequest for a placeholder that does not begin with `#` or `:`.

    An engine that is less strict could replace such a placeholder, although the authorization took it for the name of
    an attribute.
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
    new_values: dict[str, Any] = dict.fromkeys(update.changed_attributes, ...)
    new_values.update(dict.fromkeys(update.removed_attributes))
    for assignment in update.assignments:
        placeholder = assignment.placeholder
        new_values[assignment.attribute] = values.get(placeholder, ...) if placeholder else ...
    for name, value in new_values.items():
        yield AttributeChange(resolve_name(name, call), value)


def _legacy_new_value(change: Parameters) -> Any:
    """Returns the new value of an AttributeUpdates entry, in the form of AttributeChange."""
    match change.get("Action", "PUT"), change.get("Value"):
        case "PUT", value if value is not None:
            return value
        case "DELETE", None:
            return None
    return ...
