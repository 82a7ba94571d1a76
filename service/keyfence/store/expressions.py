"""Condition and update expressions as values. Every attribute name and value is rendered as a placeholder."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from keyfence.store.codec import AttributeValue, encode

Path = tuple[str, ...]
"""The name of an attribute, and the names inside it if it is a map."""


@dataclass(slots=True)
class Placeholders:
    """The placeholders of one call. All expressions of the call share them."""

    names: dict[str, str] = field(default_factory=dict)
    """The placeholder of each attribute name."""
    values: dict[str, AttributeValue] = field(default_factory=dict)
    """The value of each placeholder."""

    def add_path(self, path: Path) -> str:
        """Returns the path written with placeholders."""
        return ".".join(self._add_name(name) for name in path)

    def add_value(self, value: object) -> str:
        """Returns a new placeholder for the value."""
        placeholder = f":v{len(self.values)}"
        self.values[placeholder] = encode(value)
        return placeholder

    def _add_name(self, name: str) -> str:
        return self.names.setdefault(name, f"#n{len(self.names)}")

    def parameters(self) -> dict[str, Any]:
        """Returns the parameters of the call that define the placeholders."""
        names = {placeholder: name for name, placeholder in self.names.items()}
        maps = {"ExpressionAttributeNames": names, "ExpressionAttributeValues": self.values}
        return {parameter: content for parameter, content in maps.items() if content}


@dataclass(frozen=True, slots=True)
class ConditionTerm:
    """One comparison. Placeholders replace `{path}` and `{value}` in `template`."""

    template: str
    path: Path
    operand: object = None


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition of a write: all of its terms must hold."""

    terms: tuple[ConditionTerm, ...]

    def __and__(self, other: "Condition") -> "Condition":
        return Condition(self.terms + other.terms)

    def render(self, placeholders: Placeholders) -> str:
        return " AND ".join(_render_term(term, placeholders) for term in self.terms)


def _render_term(term: ConditionTerm, placeholders: Placeholders) -> str:
    value = placeholders.add_value(term.operand) if "{value}" in term.template else ""
    return term.template.format(path=placeholders.add_path(term.path), value=value)


def _condition(template: str, path: Path, operand: object = None) -> Condition:
    return Condition((ConditionTerm(template, path, operand),))


def absent(*path: str) -> Condition:
    """Holds if the attribute does not exist. Without a path: if the item does not exist."""
    return _condition("attribute_not_exists({path})", path or ("PK",))


def present(*path: str) -> Condition:
    """Holds if the attribute exists. Without a path: if the item exists."""
    return _condition("attribute_exists({path})", path or ("PK",))


def equals(path: str | Path, value: object) -> Condition:
    return _condition("{path} = {value}", (path,) if isinstance(path, str) else path, value)


def size_below(limit: int, name: str) -> Condition:
    """Holds if the set or map has fewer elements than the limit, or does not exist."""
    return _condition("(attribute_not_exists({path}) OR size({path}) < {value})", (name,), limit)


def number_below(limit: int, name: str) -> Condition:
    """Holds if the number is below the limit, or does not exist."""
    return _condition("(attribute_not_exists({path}) OR {path} < {value})", (name,), limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateExpression:
    """The changes of an update, by the path of the attribute."""

    sets: Mapping[Path, object] = field(default_factory=dict)
    """New values."""
    defaults: Mapping[Path, object] = field(default_factory=dict)
    """Values for attributes that do not exist yet."""
    removes: tuple[Path, ...] = ()
    """Attributes to remove."""
    adds: Mapping[Path, int | frozenset[str]] = field(default_factory=dict)
    """Numbers to add to a number, or elements to add to a set."""

    def __bool__(self) -> bool:
        return bool(self.sets or self.defaults or self.removes or self.adds)

    def __or__(self, other: "UpdateExpression") -> "UpdateExpression":
        return UpdateExpression(
            sets={**self.sets, **other.sets},
            defaults={**self.defaults, **other.defaults},
            removes=self.removes + other.removes,
            adds={**self.adds, **other.adds},
        )

    def render(self, placeholders: Placeholders) -> str:
        sets = [f"{placeholders.add_path(path)} = {placeholders.add_value(value)}" for path, value in self.sets.items()]
        sets += [
            _render_default(placeholders.add_path(path), placeholders.add_value(value))
            for path, value in self.defaults.items()
        ]
        adds = [f"{placeholders.add_path(path)} {placeholders.add_value(value)}" for path, value in self.adds.items()]
        removes = [placeholders.add_path(path) for path in self.removes]
        clauses = {"SET": sets, "ADD": adds, "REMOVE": removes}
        return " ".join(f"{keyword} {', '.join(parts)}" for keyword, parts in clauses.items() if parts)


def _render_default(path: str, value: str) -> str:
    return f"{path} = if_not_exists({path}, {value})"
