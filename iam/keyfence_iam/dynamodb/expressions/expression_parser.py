"""Condition, key condition, projection and update expressions."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from keyfence_iam.dynamodb.expressions.grammar import (
    FUNCTIONS,
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
"""Parsed expressions that are kept. Programs use few different texts, since values are placeholders."""

_RESERVED_WORDS = frozenset({"AND", "OR", "NOT", "BETWEEN", "IN", "SET", "REMOVE", "ADD", "DELETE"})
_NAME_TOKENS = ("word", "alias")


def _grammar(text: str) -> Grammar:
    if len(text) > MAX_EXPRESSION:
        raise UnsupportedRequest(f"an expression has more than {MAX_EXPRESSION} characters")
    return Grammar(expression_tokens(text), _operand, FUNCTIONS, _RESERVED_WORDS)


def _operand(grammar: Grammar) -> Node:
    if grammar.tokens.peek().kind == "value":
        return Placeholder(grammar.tokens.take().text)
    return grammar.call() or grammar.path(*_NAME_TOKENS)


_KEY_COMPARISONS = frozenset({"=", "<", "<=", ">", ">=", "BETWEEN", "begins_with"})


@dataclass(frozen=True, slots=True)
class Conjunct:
    """One of the conditions that are joined by AND."""

    attributes: tuple[str, ...]
    is_key_comparison: bool
    """Whether it compares one whole attribute with values, as a key condition must."""
    equal_to: str | None = None
    """The placeholder that the attribute must be equal to."""


@dataclass(frozen=True, slots=True)
class ConditionExpression:
    """The attributes that a condition mentions, and its parts that are joined by AND."""

    attributes: tuple[str, ...]
    conjuncts: tuple[Conjunct, ...]


@lru_cache(CACHE_SIZE)
def parse_condition(text: str) -> ConditionExpression:
    grammar = _grammar(text)
    node = grammar.condition()
    grammar.tokens.expect_end()
    return ConditionExpression(
        tuple(dict.fromkeys(attribute_names(node))), tuple(_conjunct(one) for one in conjuncts(node))
    )


def _conjunct(node: Node) -> Conjunct:
    return Conjunct(tuple(attribute_names(node)), _is_key_comparison(node), _equal_placeholder(node))


def _is_key_comparison(node: Node) -> bool:
    if not isinstance(node, OperatorNode) or node.operator not in _KEY_COMPARISONS:
        return False
    paths = [operand for operand in node.operands if not isinstance(operand, Placeholder)]
    return len(paths) == 1 and isinstance(paths[0], Path) and not paths[0].nested


def _equal_placeholder(node: Node) -> str | None:
    """Return the placeholder of an equality. It can be on either side."""
    match node:
        case OperatorNode("=", (Path(_, False), Placeholder(name))) | OperatorNode(
            "=", (Placeholder(name), Path(_, False))
        ):
            return name
    return None


@lru_cache(CACHE_SIZE)
def parse_projection(text: str) -> tuple[str, ...]:
    """Return the attributes that the expression selects, completely or in part."""
    grammar = _grammar(text)
    names = [grammar.path(*_NAME_TOKENS).attribute]
    while grammar.tokens.accept(","):
        names.append(grammar.path(*_NAME_TOKENS).attribute)
    grammar.tokens.expect_end()
    return tuple(dict.fromkeys(names))


@dataclass(frozen=True, slots=True)
class Assignment:
    """An attribute that gets the value of a placeholder, or a value that is not known here (None)."""

    attribute: str
    placeholder: str | None


@dataclass(frozen=True, slots=True)
class UpdateExpression:
    """The attributes that an update mentions, those that it changes, and how it assigns and removes them."""

    attributes: tuple[str, ...]
    changed: tuple[str, ...]
    assignments: tuple[Assignment, ...]
    removed: tuple[str, ...] = ()


@lru_cache(CACHE_SIZE)
def parse_update(text: str) -> UpdateExpression:
    actions = tuple(_sections(_grammar(text)))
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
    """Yield the actions of all sections. Each section may occur once, and there must be at least one."""
    sections = dict(_ACTIONS)
    while True:
        word = grammar.tokens.expect_word(*sections)
        action = sections.pop(word)
        yield OperatorNode(word, action(grammar))
        while grammar.tokens.accept(","):
            yield OperatorNode(word, action(grammar))
        if grammar.tokens.peek().kind == "end":
            return


def _set(grammar: Grammar) -> tuple[Node, ...]:
    path = grammar.path(*_NAME_TOKENS)
    grammar.tokens.expect("=")
    return path, grammar.stored()


def _remove(grammar: Grammar) -> tuple[Node, ...]:
    return (grammar.path(*_NAME_TOKENS),)


def _with_placeholder(grammar: Grammar) -> tuple[Node, ...]:
    path, value = grammar.path(*_NAME_TOKENS), grammar.tokens.take()
    if value.kind != "value":
        raise UnsupportedRequest(f"expected a value placeholder, not {value.text!r}")
    return path, Placeholder(value.text)


_ACTIONS: dict[str, Callable[[Grammar], tuple[Node, ...]]] = {
    "SET": _set,
    "REMOVE": _remove,
    "ADD": _with_placeholder,
    "DELETE": _with_placeholder,
}
