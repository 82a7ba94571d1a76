"""Parsers of condition, key condition, projection and update expressions."""

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
from keyfence_iam.dynamodb.request_parameters import UnsupportedRequest

MAX_EXPRESSION_LENGTH = 4096
"""The limit of DynamoDB, in bytes. The parser counts characters: an expression never has more of them than bytes."""
CACHE_SIZE = 1024
"""Entries of each cache of parsed expressions. Programs use few different texts, since values are placeholders."""

_RESERVED_WORDS = frozenset({"AND", "OR", "NOT", "BETWEEN", "IN", "SET", "REMOVE", "ADD", "DELETE"})
_NAME_TOKENS = ("word", "alias")
"""The kinds of tokens that can name an attribute."""
_KEY_COMPARISONS = frozenset({"=", "<", "<=", ">", ">=", "BETWEEN", "begins_with"})
"""Operators and functions that a key condition may use."""


def _grammar(text: str) -> Grammar:
    if len(text) > MAX_EXPRESSION_LENGTH:
        raise UnsupportedRequest(f"an expression has more than {MAX_EXPRESSION_LENGTH} characters")
    return Grammar(expression_tokens(text), _parse_operand, FUNCTIONS, _RESERVED_WORDS)


def _parse_operand(grammar: Grammar) -> Node:
    if grammar.tokens.peek().kind == "value":
        return Placeholder(grammar.tokens.take().text)
    return grammar.call() or grammar.path(*_NAME_TOKENS)


@dataclass(frozen=True, slots=True)
class Conjunct:
    """One of the conditions of an expression that are joined by AND."""

    attributes: tuple[str, ...]
    is_key_comparison: bool
    """Whether the condition compares one whole attribute with values, as a key condition must."""
    equality_placeholder: str | None = None
    """The placeholder that the attribute must be equal to. None if the condition is not an equality."""


@dataclass(frozen=True, slots=True)
class ConditionExpression:
    """The attributes that a condition expression mentions, and its conditions that are joined by AND."""

    attributes: tuple[str, ...]
    conjuncts: tuple[Conjunct, ...]


@lru_cache(CACHE_SIZE)
def parse_condition(text: str) -> ConditionExpression:
    grammar = _grammar(text)
    node = grammar.condition()
    grammar.tokens.expect_end()
    return ConditionExpression(
        tuple(dict.fromkeys(attribute_names(node))), tuple(_conjunct(part) for part in conjuncts(node))
    )


def _conjunct(node: Node) -> Conjunct:
    return Conjunct(tuple(attribute_names(node)), _is_key_comparison(node), _equality_placeholder(node))


def _is_key_comparison(node: Node) -> bool:
    if not isinstance(node, OperatorNode) or node.operator not in _KEY_COMPARISONS:
        return False
    paths = [operand for operand in node.operands if not isinstance(operand, Placeholder)]
    return len(paths) == 1 and isinstance(paths[0], Path) and not paths[0].is_nested


def _equality_placeholder(node: Node) -> str | None:
    """Returns the placeholder of an equality, which can be on either side, or None if the node is no equality."""
    match node:
        case OperatorNode("=", (Path(_, False), Placeholder(name))) | OperatorNode(
            "=", (Placeholder(name), Path(_, False))
        ):
            return name
    return None


@lru_cache(CACHE_SIZE)
def parse_projection(text: str) -> tuple[str, ...]:
    """Returns the attributes that the expression selects, completely or in part."""
    grammar = _grammar(text)
    names = [grammar.path(*_NAME_TOKENS).attribute]
    while grammar.tokens.accept(","):
        names.append(grammar.path(*_NAME_TOKENS).attribute)
    grammar.tokens.expect_end()
    return tuple(dict.fromkeys(names))


@dataclass(frozen=True, slots=True)
class Assignment:
    """An attribute that an update sets to the value of a placeholder.

    `placeholder` is None if the update computes the value, or sets only a part of the attribute.
    """

    attribute: str
    placeholder: str | None


@dataclass(frozen=True, slots=True)
class UpdateExpression:
    """A parsed update expression."""

    attributes: tuple[str, ...]
    """All attributes that the expression mentions."""
    changed_attributes: tuple[str, ...]
    assignments: tuple[Assignment, ...]
    removed_attributes: tuple[str, ...] = ()
    """Attributes that are removed as a whole. REMOVE of a nested path only changes its attribute."""


@lru_cache(CACHE_SIZE)
def parse_update(text: str) -> UpdateExpression:
    actions = tuple(_update_actions(_grammar(text)))
    mentioned = dict.fromkeys(name for action in actions for name in attribute_names(action))
    return UpdateExpression(
        attributes=tuple(mentioned),
        changed_attributes=tuple(next(attribute_names(action)) for action in actions),
        assignments=tuple(_assignment(action) for action in actions if action.operator in {"SET", "ADD"}),
        removed_attributes=tuple(name for action in actions for name in _removed_attribute(action)),
    )


def _assignment(action: OperatorNode) -> Assignment:
    match action:
        case OperatorNode("SET", (Path(attribute, False), Placeholder(name))):
            return Assignment(attribute, name)
    return Assignment(next(attribute_names(action)), None)


def _removed_attribute(action: OperatorNode) -> Iterator[str]:
    match action:
        case OperatorNode("REMOVE", (Path(attribute, False),)):
            yield attribute


def _update_actions(grammar: Grammar) -> Iterator[OperatorNode]:
    """Yields the actions of all clauses, such as `SET a = :a`.

    No clause may occur twice, and at least one clause is required.
    """
    remaining_clauses = dict(_ACTION_PARSERS)
    while True:
        word = grammar.tokens.expect_word(*remaining_clauses)
        parse_action = remaining_clauses.pop(word)
        yield OperatorNode(word, parse_action(grammar))
        while grammar.tokens.accept(","):
            yield OperatorNode(word, parse_action(grammar))
        if grammar.tokens.peek().kind == "end":
            return


def _set(grammar: Grammar) -> tuple[Node, ...]:
    path = grammar.path(*_NAME_TOKENS)
    grammar.tokens.expect("=")
    return path, grammar.stored_value()


def _remove(grammar: Grammar) -> tuple[Node, ...]:
    return (grammar.path(*_NAME_TOKENS),)


def _add_or_delete(grammar: Grammar) -> tuple[Node, ...]:
    path, value = grammar.path(*_NAME_TOKENS), grammar.tokens.take()
    if value.kind != "value":
        raise UnsupportedRequest(f"expected a value placeholder, not {value.text!r}")
    return path, Placeholder(value.text)


_ACTION_PARSERS: dict[str, Callable[[Grammar], tuple[Node, ...]]] = {
    "SET": _set,
    "REMOVE": _remove,
    "ADD": _add_or_delete,
    "DELETE": _add_or_delete,
}
