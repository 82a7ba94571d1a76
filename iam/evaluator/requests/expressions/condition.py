"""Condition, filter and key condition expressions."""

from dataclasses import dataclass
from functools import lru_cache

from iam.evaluator.requests.expressions.node import Node, Operation, Path, Placeholder, roots, terms
from iam.evaluator.requests.expressions.reading import REMEMBERED, grammar_of


@dataclass(frozen=True, slots=True)
class Term:
    """One of the conditions that must hold together; `equals` is the placeholder that its one attribute is equal to."""

    roots: tuple[str, ...]
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
    return Term(tuple(roots(node)), _equality(node))


def _equality(node: Node) -> str | None:
    """A value may stand on either side."""
    match node:
        case Operation("=", (Path(_, False), Placeholder(name))) | Operation("=", (Placeholder(name), Path(_, False))):
            return name
    return None
