"""Update expressions."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from keyfence_iam.evaluator.requests.expressions.grammar import Grammar
from keyfence_iam.evaluator.requests.expressions.node import Node, Operation, Path, Placeholder, roots
from keyfence_iam.evaluator.requests.expressions.reading import NAMES, REMEMBERED, grammar_of
from keyfence_iam.evaluator.requests.refusal import NotUnderstood


@dataclass(frozen=True, slots=True)
class Assignment:
    """What is stored in an attribute: the value of a placeholder, or (None) something that is not known here."""

    root: str
    value: str | None


@dataclass(frozen=True, slots=True)
class Update:
    """The attributes that an update reads or changes, those it changes, where it stores something, what it removes."""

    roots: tuple[str, ...]
    targets: tuple[str, ...]
    assignments: tuple[Assignment, ...]
    removed: tuple[str, ...] = ()


@lru_cache(REMEMBERED)
def update(text: str) -> Update:
    actions = tuple(_sections(grammar_of(text)))
    assigned = tuple(_assignment(action) for action in actions if action.operator in {"SET", "ADD"})
    mentioned = dict.fromkeys(root for action in actions for root in roots(action))
    removed = tuple(root for action in actions for root in _removed(action))
    return Update(tuple(mentioned), tuple(next(roots(action)) for action in actions), assigned, removed)


def _assignment(action: Operation) -> Assignment:
    match action:
        case Operation("SET", (Path(root, False), Placeholder(name))):
            return Assignment(root, name)
    return Assignment(next(roots(action)), None)


def _removed(action: Operation) -> Iterator[str]:
    match action:
        case Operation("REMOVE", (Path(root, False),)):
            yield root


def _sections(grammar: Grammar) -> Iterator[Operation]:
    """Each section at most once, and at least one of them."""
    left = dict(_ACTIONS)
    while True:
        word = grammar.tokens.expect_word(*left)
        action = left.pop(word)
        yield Operation(word, action(grammar))
        while grammar.tokens.accept(","):
            yield Operation(word, action(grammar))
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
        raise NotUnderstood(f"expected a value, not {value.text!r}")
    return path, Placeholder(value.text)


_ACTIONS: dict[str, Callable[[Grammar], tuple[Node, ...]]] = {
    "SET": _set,
    "REMOVE": _remove,
    "ADD": _with_placeholder,
    "DELETE": _with_placeholder,
}
