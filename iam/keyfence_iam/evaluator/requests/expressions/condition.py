"""Condition, filter and key condition expressions."""

from dataclasses import dataclass
from functools import lru_cache

from keyfence_iam.evaluator.requests.expressions.node import Node, Operation, Path, Placeholder, roots, terms
from keyfence_iam.evaluator.requests.expressions.reading import REMEMBERED, grammar_of

_COMPARING = frozenset({"=", "<", "<=", ">", ">=", "BETWEEN", "begins_with"})


@dataclass(frozen=True, slots=True)
class Term:
    """One of the conditions that must hold together; `equals` is the placeholder that its one attribute is equal to."""

    roots: tuple[str, ...]
    compares: bool
    """Whether it compares one whole attribute with values, as terms of a key condition do."""
    equals: str | None = None


@dataclass(frozen=True, slots=True)
class Condition:
    """The attributes that a condition mentions, and its terms."""

    roots: tuple[str, ...]
    terms: tuple[Term, ...]


@lru_cache(REMEMBERED)
def condition(text: str) -> Condition:
    grammar = grammar_of(text)
    node = grammar.condition()
    grammar.tokens.expect_end()
    return Condition(tuple(dict.fromkeys(roots(node))), tuple(_term(one) for one in terms(node)))


def _term(node: Node) -> Term:
    return Term(tuple(roots(node)), _compares(node), _equality(node))


def _compares(node: Node) -> bool:
    if not isinstance(node, Operation) or node.operator not in _COMPARING:
        return False
    paths = [operand for operand in node.operands if not isinstance(operand, Placeholder)]
    return len(paths) == 1 and isinstance(paths[0], Path) and not paths[0].nested


def _equality(node: Node) -> str | None:
    """A value may stand on either side."""
    match node:
        case Operation("=", (Path(_, False), Placeholder(name))) | Operation("=", (Placeholder(name), Path(_, False))):
            return name
    return None
