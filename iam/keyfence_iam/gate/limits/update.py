"""What an update makes of an item, as far as that can be told without being the engine."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from keyfence_iam.evaluator.requests.expressions.update import update
from keyfence_iam.evaluator.requests.mentioned import resolve
from keyfence_iam.evaluator.requests.shape import Holder, as_mapping, optional_mapping, text
from keyfence_iam.gate.limits.size import ALTERED, Item


class Change(NamedTuple):
    """An attribute and its new value; None removes it, and `...` is one that is not known here."""

    attribute: str
    value: Any


def changes(call: Holder) -> Iterator[Change]:
    if call.get("UpdateExpression") is not None:
        yield from _expressed(call)
    for name, change in optional_mapping(call, "AttributeUpdates").items():
        yield Change(name, _legacy(as_mapping(change, name)))


def updated(item: Item, changed: tuple[Change, ...]) -> Item:
    after = dict(item)
    for attribute, value in changed:
        if value is None:
            after.pop(attribute, None)
        else:
            after[attribute] = {ALTERED: item.get(attribute)} if value is ... else value
    return after


def _expressed(call: Holder) -> Iterator[Change]:
    values, read = optional_mapping(call, "ExpressionAttributeValues"), update(text(call, "UpdateExpression"))
    stored = {one.root: values.get(one.value, ...) if one.value else ... for one in read.assignments}
    gone = dict.fromkeys(read.removed)
    for root in dict.fromkeys(read.targets):
        yield Change(resolve(root, call), stored[root] if root in stored else gone.get(root, ...))


def _legacy(change: Holder) -> Any:
    match change.get("Action", "PUT"), change.get("Value"):
        case "PUT", value if value is not None:
            return value
        case "DELETE", None:
            return None
    return ...
