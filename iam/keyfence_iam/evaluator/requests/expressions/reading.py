"""An expression's text to its tree."""

from keyfence_iam.evaluator.requests.expressions.grammar import Grammar
from keyfence_iam.evaluator.requests.expressions.node import Node, Placeholder
from keyfence_iam.evaluator.requests.expressions.tokens import expression_tokens
from keyfence_iam.evaluator.requests.refusal import NotUnderstood

LONGEST = 4096
REMEMBERED = 1024
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
    if len(text) > LONGEST:
        raise NotUnderstood(f"an expression of more than {LONGEST} characters")
    return Grammar(expression_tokens(text), _operand, _FUNCTIONS, _WORDS)


def _operand(grammar: Grammar) -> Node:
    if grammar.tokens.peek().kind == "value":
        return Placeholder(grammar.tokens.take().text)
    return grammar.call() or grammar.path(*NAMES)
