"""Operands of PartiQL statements: strings, numbers, lists, maps, parameters, functions and paths."""

from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise

from keyfence_iam.dynamodb.expressions.grammar import FUNCTIONS, Grammar, LiteralValue, Node, OperatorNode, Parameter
from keyfence_iam.dynamodb.expressions.tokens import Token, statement_tokens
from keyfence_iam.dynamodb.request_parameters import UnsupportedRequest

MAX_STATEMENT_LENGTH = 8192
"""The limit of DynamoDB, in characters."""
NAME_TOKENS = ("word", "quoted")
"""The kinds of tokens that can name a table, an index or an attribute."""
RESERVED_WORDS = frozenset(
    {
        *("SELECT", "FROM", "WHERE", "ORDER", "BY", "ASC", "DESC", "LIMIT", "AS", "EXISTS"),
        *("INSERT", "INTO", "VALUE", "UPDATE", "SET", "REMOVE", "DELETE", "RETURNING"),
        *("AND", "OR", "NOT", "BETWEEN", "IN", "IS", "MISSING", "NULL", "TRUE", "FALSE"),
    }
)
_FUNCTIONS = {**FUNCTIONS, "set_add": False, "set_delete": False}
PARAMETER_TOKEN = Token("symbol", "?")
_OPENING_PARENTHESIS = Token("symbol", "(")
_END = Token("end", "")
_CONSTANT_WORDS = ("TRUE", "FALSE", "NULL", "MISSING")


def statement_grammar(text: str) -> Grammar:
    """Returns a parser of the statement. Raises UnsupportedRequest if the statement is too long.

    PartiQL accepts names of functions in any case. Therefore they are replaced by their lower case form.
    """
    if len(text) > MAX_STATEMENT_LENGTH:
        raise UnsupportedRequest(f"a statement has more than {MAX_STATEMENT_LENGTH} characters")
    tokens = statement_tokens(text)
    tokens.tokens = [_lowercase_function(*pair) for pair in pairwise([*tokens.tokens, _END])]
    return Grammar(tokens, parse_operand, _FUNCTIONS, RESERVED_WORDS)


def parse_operand(grammar: Grammar) -> Node:
    token = grammar.tokens.peek()
    if token.kind == "symbol" and token.text in _OPERAND_PARSERS:
        grammar.tokens.take()
        return _OPERAND_PARSERS[token.text](grammar)
    if token.kind in {"string", "number"}:
        grammar.tokens.take()
        return LiteralValue(token.text if token.kind == "string" else None)
    if grammar.tokens.accept_word(*_CONSTANT_WORDS):
        return LiteralValue()
    return grammar.call() or grammar.path(*NAME_TOKENS)


def map_entries(grammar: Grammar) -> Iterator[tuple[str, Node]]:
    """Yields the names and values of a map, up to its closing brace. No name may occur twice."""
    names: set[str] = set()
    while True:
        name = grammar.tokens.take()
        if name.kind not in {"string", "quoted"} or name.text in names:
            raise UnsupportedRequest(f"expected a name that the map does not have yet, not {name.text!r}")
        names.add(name.text)
        grammar.tokens.expect(":")
        yield name.text, grammar.nested_value()
        if not grammar.tokens.accept(","):
            grammar.tokens.expect("}")
            return


def _lowercase_function(token: Token, following: Token) -> Token:
    is_function = token.kind == "word" and following == _OPENING_PARENTHESIS and token.text.lower() in _FUNCTIONS
    return Token("word", token.text.lower()) if is_function else token


def _parameter(grammar: Grammar) -> Node:
    previous_tokens = grammar.tokens.tokens[: grammar.tokens.position - 1]
    return Parameter(previous_tokens.count(PARAMETER_TOKEN))


def _negative_number(grammar: Grammar) -> Node:
    if grammar.tokens.take().kind != "number":
        raise UnsupportedRequest("expected a number after '-'")
    return LiteralValue()


def _list_parser(closing: str) -> Callable[[Grammar], Node]:
    def read(grammar: Grammar) -> Node:
        return OperatorNode("LIST", () if grammar.tokens.accept(closing) else grammar.value_list(closing))

    return read


def _map(grammar: Grammar) -> Node:
    if grammar.tokens.accept("}"):
        return OperatorNode("MAP", ())
    return OperatorNode("MAP", tuple(value for _, value in map_entries(grammar)))


_OPERAND_PARSERS: Mapping[str, Callable[[Grammar], Node]] = {
    "?": _parameter,
    "-": _negative_number,
    "[": _list_parser("]"),
    "<<": _list_parser(">>"),
    "{": _map,
}
