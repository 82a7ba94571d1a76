"""Parser of PartiQL statements, and the values that a WHERE clause allows for an attribute."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from keyfence_iam.dynamodb.expressions.grammar import (
    Grammar,
    LiteralValue,
    Node,
    OperatorNode,
    Parameter,
    Path,
    attribute_names,
    conjuncts,
)
from keyfence_iam.dynamodb.expressions.partiql_operands import (
    NAME_TOKENS,
    PARAMETER_TOKEN,
    RESERVED_WORDS,
    map_entries,
    statement_grammar,
)
from keyfence_iam.dynamodb.expressions.tokens import token_positions
from keyfence_iam.dynamodb.request_parameters import UnsupportedRequest

_CACHE_SIZE = 1024
"""Entries of the cache of parsed statements. Programs use few different texts, since values are parameters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartiQLStatement:
    """A parsed statement."""

    verb: str
    """SELECT, INSERT, UPDATE or DELETE."""
    table: str
    """The name or the ARN of the table."""
    table_token_position: int
    """The position of the table among the tokens of the statement."""
    parameter_count: int = 0
    index: str | None = None
    attributes: tuple[str, ...] = ()
    """All attributes that the statement mentions."""
    selects_all: bool = False
    assignments: tuple[tuple[Path, Node], ...] = ()
    """The paths that an INSERT or UPDATE sets, with their values."""
    changed_attributes: tuple[str, ...] = ()
    """The attributes that an UPDATE sets or removes."""
    where: Node | None = None
    return_values: str = "NONE"
    """What an UPDATE or DELETE returns, in the words of the parameter ReturnValues: NONE, ALL_OLD, ..."""


@lru_cache(_CACHE_SIZE)
def parse_statement(text: str) -> PartiQLStatement:
    grammar = statement_grammar(text)
    verb = grammar.tokens.expect_word(*_STATEMENT_PARSERS)
    statement = _STATEMENT_PARSERS[verb](grammar)
    grammar.tokens.expect_end()
    where_attributes = attribute_names(statement.where) if statement.where else ()
    return replace(
        statement,
        parameter_count=grammar.tokens.tokens.count(PARAMETER_TOKEN),
        attributes=tuple(dict.fromkeys((*statement.attributes, *where_attributes))),
    )


def replace_table(text: str, name: str) -> str:
    """Returns the statement with the table `name` in place of its table.

    Raises UnsupportedRequest if the old table is not between quotation marks.
    """
    statement = parse_statement(text)
    quoted = f'"{statement.table}"'
    start = token_positions(text)[statement.table_token_position]
    if not text.startswith(quoted, start):
        raise UnsupportedRequest("the table of the statement is not between quotation marks")
    return f'{text[:start]}"{name}"{text[start + len(quoted) :]}'


def _select(grammar: Grammar) -> PartiQLStatement:
    selects_all = bool(grammar.tokens.accept("*"))
    projected = () if selects_all else tuple(_projection(grammar))
    grammar.tokens.expect_word("FROM")
    table_token_position, table = grammar.tokens.position, _table_or_index_name(grammar)
    index = _table_or_index_name(grammar) if grammar.tokens.accept(".") else None
    where = _where(grammar)
    attributes = (*projected, *_order_by(grammar))
    return PartiQLStatement(
        verb="SELECT",
        table=table,
        table_token_position=table_token_position,
        index=index,
        attributes=attributes,
        selects_all=selects_all,
        where=where,
    )


def _insert(grammar: Grammar) -> PartiQLStatement:
    grammar.tokens.expect_word("INTO")
    table_token_position, table = grammar.tokens.position, _table_or_index_name(grammar)
    grammar.tokens.expect_word("VALUE")
    grammar.tokens.expect("{")
    assignments = tuple((Path(name), value) for name, value in map_entries(grammar))
    return PartiQLStatement(
        verb="INSERT",
        table=table,
        table_token_position=table_token_position,
        attributes=tuple(path.attribute for path, _ in assignments),
        assignments=assignments,
    )


def _update(grammar: Grammar) -> PartiQLStatement:
    table_token_position, table = grammar.tokens.position, _table_or_index_name(grammar)
    changes, where = tuple(_update_clauses(grammar)), _where(grammar)
    changed = tuple(path.attribute for path, _ in changes)
    assignments = tuple((path, value) for path, value in changes if value)
    attributes_in_values = (name for _, value in assignments for name in attribute_names(value))
    return PartiQLStatement(
        verb="UPDATE",
        table=table,
        table_token_position=table_token_position,
        attributes=(*changed, *attributes_in_values),
        assignments=assignments,
        changed_attributes=changed,
        where=where,
        return_values=_returning(grammar),
    )


def _delete(grammar: Grammar) -> PartiQLStatement:
    grammar.tokens.expect_word("FROM")
    table_token_position, table = grammar.tokens.position, _table_or_index_name(grammar)
    where, return_values = _where(grammar), _returning(grammar)
    return PartiQLStatement(
        verb="DELETE", table=table, table_token_position=table_token_position, where=where, return_values=return_values
    )


def _update_clauses(grammar: Grammar) -> Iterator[tuple[Path, Node | None]]:
    """Yields each path that SET or REMOVE changes, with its new value. The value of a removed path is None."""
    verb: str | None = grammar.tokens.expect_word("SET", "REMOVE")
    while verb:
        yield from _changes(grammar, verb)
        verb = grammar.tokens.accept_word("SET", "REMOVE")


def _changes(grammar: Grammar, verb: str) -> Iterator[tuple[Path, Node | None]]:
    while True:
        path = grammar.path(*NAME_TOKENS)
        if verb == "SET":
            grammar.tokens.expect("=")
        yield path, grammar.stored_value() if verb == "SET" else None
        if not grammar.tokens.accept(","):
            return


def _projection(grammar: Grammar) -> Iterator[str]:
    yield from attribute_names(grammar.stored_value())
    while grammar.tokens.accept(","):
        yield from attribute_names(grammar.stored_value())


def _table_or_index_name(grammar: Grammar) -> str:
    token = grammar.tokens.take()
    if token.kind not in NAME_TOKENS or (token.kind == "word" and token.text.upper() in RESERVED_WORDS):
        raise UnsupportedRequest(f"expected a table or an index, not {token.text!r}")
    return token.text


def _where(grammar: Grammar) -> Node | None:
    return grammar.condition() if grammar.tokens.accept_word("WHERE") else None


def _order_by(grammar: Grammar) -> Iterator[str]:
    if not grammar.tokens.accept_word("ORDER"):
        return
    grammar.tokens.expect_word("BY")
    while True:
        yield grammar.path(*NAME_TOKENS).attribute
        grammar.tokens.accept_word("ASC", "DESC")
        if not grammar.tokens.accept(","):
            return


def _returning(grammar: Grammar) -> str:
    if not grammar.tokens.accept_word("RETURNING"):
        return "NONE"
    attributes = {"ALL": "ALL", "MODIFIED": "UPDATED"}[grammar.tokens.expect_word("ALL", "MODIFIED")]
    version = grammar.tokens.expect_word("OLD", "NEW")
    grammar.tokens.expect("*")
    return f"{attributes}_{version}"


_STATEMENT_PARSERS: Mapping[str, Callable[[Grammar], PartiQLStatement]] = {
    "SELECT": _select,
    "INSERT": _insert,
    "UPDATE": _update,
    "DELETE": _delete,
}


def possible_values(where: Node | None, attribute: str) -> tuple[Node, ...] | None:
    """Returns the values that the attribute can have if the WHERE clause holds, or None if it can have any value.

    For conditions that are joined by AND, the values of all these conditions are returned. So the result can have
    values that only some of the conditions allow.
    """
    match where:
        case OperatorNode("AND", operands):
            possible = [values for operand in operands if (values := possible_values(operand, attribute)) is not None]
            return sum(possible, ()) if possible else None
        case OperatorNode("OR", operands):
            alternatives = [possible_values(operand, attribute) for operand in operands]
            return None if None in alternatives else sum((values or () for values in alternatives), ())
        case OperatorNode("=", (Path(name, False), value) | (value, Path(name, False))) if name == attribute:
            return _only_constants((value,))
        case OperatorNode("IN", (Path(name, False), *values)) if name == attribute:
            return _only_constants(tuple(values))
    return None


def required_value(where: Node | None, attribute: str) -> Node | None:
    """Returns the value that the attribute must be equal to.

    Returns None unless the WHERE clause has exactly one condition on the attribute, and this condition is an equality.
    """
    if where is None:
        return None
    conditions = [condition for condition in conjuncts(where) if attribute in attribute_names(condition)]
    if len(conditions) != 1 or not isinstance(conditions[0], OperatorNode) or conditions[0].operator != "=":
        return None
    values = possible_values(conditions[0], attribute)
    return values[0] if values else None


def _only_constants(values: tuple[Node, ...]) -> tuple[Node, ...] | None:
    """Returns the values, or None if one of them is not known before the statement is executed."""
    return values if all(isinstance(value, LiteralValue | Parameter) for value in values) else None
