"""Expressions as trees."""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Path:
    """An attribute, or something inside it; `root` as it is written."""

    root: str
    nested: bool = False


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A value that the call gives under a name."""

    name: str


@dataclass(frozen=True, slots=True)
class Parameter:
    """A value that the call gives by its position."""

    position: int


@dataclass(frozen=True, slots=True)
class Literal:
    """A value written in a statement; only texts are told apart."""

    text: str | None = None


@dataclass(frozen=True, slots=True)
class Operation:
    """An operator or function with its operands."""

    operator: str
    operands: tuple["Node", ...]


Node = Path | Placeholder | Parameter | Literal | Operation


def roots(node: Node) -> Iterator[str]:
    """The attributes that the tree mentions."""
    if isinstance(node, Path):
        yield node.root
    elif isinstance(node, Operation):
        for operand in node.operands:
            yield from roots(operand)


def terms(node: Node) -> Iterator[Node]:
    """What must hold together: the operands of AND, however they are grouped."""
    if isinstance(node, Operation) and node.operator == "AND":
        for operand in node.operands:
            yield from terms(operand)
    else:
        yield node
