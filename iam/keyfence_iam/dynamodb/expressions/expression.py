"""Condition, key condition, projection and update expressions."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from keyfence_iam.dynamodb.expressions.grammar import (
    Grammar,
    Node,
    OperatorNode,
    Path,
    Placeholder,
    attribute_names,
    conjuncts,
)
from keyfence_iam.dynamodb.expressions.tokens import expression_tokens
from keyfence_iam.dynamodb.parameters import UnsupportedRequest

MAX_EXPRESSION = 4096
CACHE_SIZE = 1024
"""How many texts of a kind are kept with their trees: programs have few, whatever their values are."""

_WORDS = frozenset({"AND", "OR", "NOT", "BETWEEN", "IN", "SET", "REMOVE", "ADD", "DELETE"})
_FUNCTIONS = {
    "attribute_exists": True,
    "attribute_not_exists": True,
    "attribute_type": True,
    "begins_with": True,
    "contains": True,
    "size": False,
    "if_not_exists": False,
    "list_append": False,
}
NAMES = ("word", "alias")


def grammar_of(text: str) -> Grammar:
    if len(text) > MAX_EXPRESSION:
        raise UnsupportedRequest(f"an expression of more than {MAX_EXPRESSION} characters")
    return Grammar(expression_tokens(text), _operand, _FUNCTIONS, _WORDS)


def _operand(grammar: Grammar) -> Node:
    if grammar.tokens.peek().kind == "value":
        return Placeholder(grammar.tokens.take().text)
    return grammar.call() or grammar.path(*NAMES)


_COMPARING = frozenset({"=", "<", "<=", ">", ">=", "BETWEEN", "begins_with"})


@dataclass(frozen=True, slots=True)
class Conjunct:
    """One of the conditions that must hold together; `equals` is the placeholder that its one attribute is equal to."""

    attributes: tuple[str, ...]
    is_key_comparison: bool
    """Whether it compares one whole attribute with values, as terms of a key condition do."""
    equal_to: str | None = None


@dataclass(frozen=True, slots=True)
class ConditionExpression:
    """The attributes that a condition mentions, and its terms."""

    attributes: tuple[str, ...]
    conjuncts: tuple[Conjunct, ...]


@lru_cache(CACHE_SIZE)
def parse_condition(text: str) -> ConditionExpression:
    grammar = grammar_of(text)
    node = grammar.condition()
    grammar.tokens.expect_end()
    return ConditionExpression(
        tuple(dict.fromkeys(attribute_names(node))), tuple(_term(one) for one in conjuncts(node))
    )


def _term(node: Node) -> Conjunct:
    return Conjunct(tuple(attribute_names(node)), _compares(node), _equality(node))


def _compares(node: Node) -> bool:
    if not isinstance(node, OperatorNode) or node.operator not in _COMPARING:
        return False
    paths = [operand for operand in node.operands if not isinstance(operand, Placeholder)]
    return len(paths) == 1 and isinstance(paths[0], Path) and not paths[0].nested


def _equality(node: Node) -> str | None:
    """A value may stand on either side."""
    match node:
        case OperatorNode("=", (Path(_, False), Placeholder(name))) | OperatorNode(
            "=", (Placeholder(name), Path(_, False))
        ):
            return name
    return None


@lru_cache(CACHE_SIZE)
def parse_projection(text: str) -> tuple[str, ...]:
    """The attributes that it selects, or selects a part of."""
    grammar = grammar_of(text)
    found = [grammar.path(*NAMES).attribute]
    while grammar.tokens.accept(","):
        found.append(grammar.path(*NAMES).attribute)
    grammar.tokens.expect_end()
    return tuple(dict.fromkeys(found))


@dataclass(frozen=True, slots=True)
class Assignment:
    """What is stored in an attribute: the value of a placeholder, or (None) something that is not known here."""

    attribute: str
    placeholder: str | None


@dataclass(frozen=True, slots=True)
class UpdateExpression:
    """The attributes that an update reads or changes, those it changes, where it stores something, what it removes."""

    attributes: tuple[str, ...]
    changed: tuple[str, ...]
    assignments: tuple[Assignment, ...]
    removed: tuple[str, ...] = ()


@lru_cache(CACHE_SIZE)
def parse_update(text: str) -> UpdateExpression:
    actions = tuple(_sections(grammar_of(text)))
    assigned = tuple(_assignment(action) for action in actions if action.operator in {"SET", "ADD"})
    mentioned = dict.fromkeys(root for action in actions for root in attribute_names(action))
    removed = tuple(root for action in actions for root in _removed(action))
    return UpdateExpression(
        tuple(mentioned), tuple(next(attribute_names(action)) for action in actions), assigned, removed
    )


def _assignment(action: OperatorNode) -> Assignment:
    match action:
        case OperatorNode("SET", (Path(root, False), Placeholder(name))):
            return Assignment(root, name)
    return Assignment(next(attribute_names(action)), None)


def _removed(action: OperatorNode) -> Iterator[str]:
    match action:
        case OperatorNode("REMOVE", (Path(root, False),)):
            yield root


def _sections(grammar: Grammar) -> Iterator[OperatorNode]:
    """Each section at most once, and at least one of them."""
    left = dict(_ACTIONS)
    while True:
        word = grammar.tokens.expect_word(*left)
        action = left.pop(word)
        yield OperatorNode(word, action(grammar))
        while grammar.tokens.accept(","):
            yield OperatorNode(word, action(grammar))
        if grammar.tokens.peek().kind == "end":
            return


def _set(grammar: Grammar) -> tuple[Node, ...]:
    path = grammar.path(*NAMES)
    grammar.tokens.expect("=")
    return path, grammar.stored()


def _remove(grammar: Grammar) -> tuple[Node, ...]:
    return (grammar.path(*NAMES),)


def _with_placeholder(grammar: Grammar) -> tuple[Node, ...]:
    path, value = grammar.path(*NAMES), grammar.tokens.take()
    if value.kind != "value":
        raise UnsupportedRequest(f"expected a value, not {value.text!r}")
    return path, Placeholder(value.text)


_ACTIONS: dict[str, Callable[[Grammar], tuple[Node, ...]]] = {
    "SET": _set,
    "REMOVE": _remove,
    "ADD": _with_placeholder,
    "DELETE": _with_placeholder,
}
