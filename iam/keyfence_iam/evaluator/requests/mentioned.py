"""The attributes that a call mentions, in expressions and in the older maps."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from keyfence_iam.evaluator.requests.expressions.condition import condition
from keyfence_iam.evaluator.requests.expressions.projection import projection
from keyfence_iam.evaluator.requests.expressions.update import update
from keyfence_iam.evaluator.requests.refusal import NotUnderstood
from keyfence_iam.evaluator.requests.shape import (
    Holder,
    as_mapping,
    attributes,
    mapping,
    optional_attributes,
    optional_mapping,
    text,
    texts,
)

_EXPRESSIONS: Mapping[str, Callable[[str], Iterable[str]]] = {
    "KeyConditionExpression": lambda written: condition(written).roots,
    "FilterExpression": lambda written: condition(written).roots,
    "ConditionExpression": lambda written: condition(written).roots,
    "UpdateExpression": lambda written: update(written).roots,
    "ProjectionExpression": projection,
}
_LEGACY_MAPS = ("KeyConditions", "QueryFilter", "ScanFilter", "Expected", "AttributeUpdates")
_LEGACY = (*_LEGACY_MAPS, "AttributesToGet", "ConditionalOperator")
_ITEMS = ("Key", "Item")


def mentioned(call: Holder) -> tuple[str, ...]:
    """Each once: what stands in a path is its first part, what stands behind an alias is its name."""
    return tuple(dict.fromkeys(_mentioned(call)))


def resolve(name: str, call: Holder) -> str:
    """An attribute's name, where an alias may stand for it."""
    if not name.startswith("#"):
        return name
    found = optional_mapping(call, "ExpressionAttributeNames").get(name)
    if not isinstance(found, str):
        raise NotUnderstood(f"{name} is not among the attribute names")
    return found


def changed(call: Holder) -> set[str]:
    """The attributes that an update changes, in either form."""
    found = set(optional_mapping(call, "AttributeUpdates"))
    if call.get("UpdateExpression") is not None:
        found.update(resolve(root, call) for root in update(text(call, "UpdateExpression")).targets)
    return found


def projects(call: Holder) -> bool:
    return call.get("ProjectionExpression") is not None or call.get("AttributesToGet") is not None


def _mentioned(call: Holder) -> Iterator[str]:
    _check_placeholders(call)
    written = [name for name in _EXPRESSIONS if call.get(name) is not None]
    legacy = [name for name in _LEGACY if call.get(name) is not None]
    if written and legacy:
        raise NotUnderstood(f"both {written[0]} and {legacy[0]}")
    for name in _ITEMS:
        if name in call:
            yield from attributes(call, name)
    for name in written:
        yield from (resolve(root, call) for root in _EXPRESSIONS[name](text(call, name)))
    for name in legacy:
        yield from _legacy(call, name)


def _check_placeholders(call: Holder) -> None:
    """A name without its mark would stand for an attribute here and for a placeholder in a lenient engine."""
    for name in optional_mapping(call, "ExpressionAttributeNames"):
        if not name.startswith("#"):
            raise NotUnderstood("a placeholder for a name begins with '#'")
    for name in optional_attributes(call, "ExpressionAttributeValues"):
        if not name.startswith(":"):
            raise NotUnderstood("a placeholder for a value begins with ':'")


def _legacy(call: Holder, name: str) -> Iterable[str]:
    if name == "AttributesToGet":
        return texts(call, name)
    if name == "ConditionalOperator":
        return ()
    found = mapping(call, name)
    for one in found.values():
        as_mapping(one, name)
    return found
