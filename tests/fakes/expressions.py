"""Evaluates the condition and update expressions that the store renders, as DynamoDB does."""

import copy
import re
from collections.abc import Iterator, Mapping
from typing import Any

from keyfence.store.codec import AttributeValue, Item

Path = tuple[str, ...]


class BadExpression(ValueError):
    """An expression for which DynamoDB returns a ValidationException."""


def meets_condition(body: Mapping[str, Any], item: Item) -> bool:
    """Whether the item meets the condition of a write. An item that does not exist is {}."""
    condition = body.get("ConditionExpression")
    return all(_is_met(term, body, item) for term in condition.split(" AND ")) if condition else True


def apply_update(body: Mapping[str, Any], item: Item) -> Item:
    """Returns the item after the update expression of a write. Raises BadExpression if DynamoDB would refuse it."""
    after, changed_paths = copy.deepcopy(item), [path for _, path, _ in _update_actions(body)]
    if any(
        path[: len(other)] == other
        for i, path in enumerate(changed_paths)
        for other in changed_paths[:i] + changed_paths[i + 1 :]
    ):
        raise BadExpression("two document paths overlap with each other")
    if any(path[0] in {"PK", "SK"} for path in changed_paths):
        raise BadExpression("an attribute of the table's key cannot be apply_update")
    for verb, path, operand in _update_actions(body):
        _ACTIONS[verb](_parent(after, path), path[-1], operand)
    return after


def placeholders(body: Mapping[str, Any]) -> tuple[set[str], set[str]]:
    """Returns the placeholders that are used and those that are defined. DynamoDB requires both to be equal."""
    text = " ".join(str(body.get(f"{kind}Expression", "")) for kind in ("Update", "Condition"))
    defined = {*body.get("ExpressionAttributeNames", {}), *body.get("ExpressionAttributeValues", {})}
    return set(re.findall(r"[#:]\w+", text)), defined


def _is_met(term: str, body: Mapping[str, Any], item: Item) -> bool:
    if term.startswith("("):
        return any(_is_met(part, body, item) for part in term[1:-1].split(" OR "))
    if function := re.fullmatch(r"attribute_(not_exists|exists)\((\S+)\)", term):
        return (_find_value(item, _path(function[2], body)) is None) == (function[1] == "not_exists")
    path, operator, operand = term.split(" ")
    value = body["ExpressionAttributeValues"][operand]
    if (size := re.fullmatch(r"size\((\S+)\)", path)) and operator == "<":
        attribute = _find_value(item, _path(size[1], body))
        return attribute is not None and len(next(iter(attribute.values()))) < int(value["N"])
    if operator != "=":
        raise BadExpression(term)
    return bool(_find_value(item, _path(path, body)) == value)


def _update_actions(body: Mapping[str, Any]) -> Iterator[tuple[str, Path, AttributeValue]]:
    verb = ""
    for part in re.split(r"\b(SET|ADD|REMOVE)\b ?", body.get("UpdateExpression", "")):
        if part in _ACTIONS:
            verb = part
        elif part:
            for step in re.split(r", (?!:)", part.strip()):
                path, _, operand = step.replace(" = ", " ").partition(" ")
                default = _DEFAULT.fullmatch(operand)
                kind = "DEFAULT" if default else verb
                operand = default[1] if default else operand
                yield kind, _path(path, body), body["ExpressionAttributeValues"][operand] if operand else {}


def _path(text: str, body: Mapping[str, Any]) -> Path:
    return tuple(body["ExpressionAttributeNames"][part] for part in text.split("."))


def _find_value(item: Item, path: Path) -> AttributeValue | None:
    value: AttributeValue | None = {"M": item}
    for name in path:
        value = value.get("M", {}).get(name) if value else None
    return value


def _parent(item: Item, path: Path) -> Item:
    container = _find_value(item, path[:-1])
    if container is None or "M" not in container:
        raise BadExpression(f"the document path {path} is invalid for update")
    parent: Item = container["M"]
    return parent


def _set(parent: Item, name: str, operand: AttributeValue) -> None:
    if operand.get("SS") == []:
        raise BadExpression("a string set may not be empty")
    parent[name] = operand


def _add(parent: Item, name: str, operand: AttributeValue) -> None:
    if "N" in operand:
        parent[name] = {"N": str(int(parent.get(name, {"N": "0"})["N"]) + int(operand["N"]))}
    else:
        parent[name] = {"SS": sorted({*parent.get(name, {"SS": []})["SS"], *operand["SS"]})}


def _remove(parent: Item, name: str, _operand: AttributeValue) -> None:
    parent.pop(name, None)


def _default(parent: Item, name: str, operand: AttributeValue) -> None:
    if name not in parent:
        _set(parent, name, operand)


_ACTIONS = {"SET": _set, "DEFAULT": _default, "ADD": _add, "REMOVE": _remove}
_DEFAULT = re.compile(r"if_not_exists\(\S+, (:\w+)\)")
