"""Parser of PartiQL statements, and the partition keys in a WHERE clause."""

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
    PARAMETER,
    RESERVED_WORDS,
    map_entries,
    statement_grammar,
)
from keyfence_iam.dynamodb.parameters import UnsupportedRequest


def possible_partitions(where: Node | None, attribute: str) -> tuple[Node, ...] | None:
    """Return the values that the attribute can have if the clause holds, or None if it can have any value."""
    match where:
        case OperatorNode("AND", operands):
            found = [values for one in operands if (values := possible_partitions(one, attribute)) is not None]
            return sum(found, ()) if found else None
        case OperatorNode("OR", operands):
            either = [possible_partitions(one, attribute) for one in operands]
            return None if None in either else sum((values or () for values in either), ())
        case OperatorNode("=", (Path(root, False), value) | (value, Path(root, False))) if root == attribute:
            return _constants((value,))
        case OperatorNode("IN", (Path(root, False), *values)) if root == attribute:
            return _constants(tuple(values))
    return None


def single_partition(where: Node | None, attribute: str) -> Node | None:
    """Return the value that the attribute must be equal to, if the clause compares the attribute only once."""
    if where is None:
        return None
    conditions = [one for one in conjuncts(where) if attribute in attribute_names(one)]
    values = possible_partitions(conditions[0], attribute) if len(conditions) == 1 else None
    return values[0] if values and isinstance(conditions[0], OperatorNode) and conditions[0].operator == "=" else None


def _constants(values: tuple[Node, ...]) -> tuple[Node, ...] | None:
    return values if all(isinstance(value, LiteralValue | Parameter) for value in values) else None


_CACHE_SIZE = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class PartiQLStatement:
    """A parsed statement. INSERT and UPDATE have `assignments`; UPDATE has `changed`, with removed attributes too."""

    verb: str
    table: str
    parameter_count: int = 0
    index: str | None = None
    attributes: tuple[str, ...] = ()
    selects_all: bool = False
    assignments: tuple[tuple[Path, Node], ...] = ()
    changed: tuple[str, ...] = ()
    where: Node | None = None
    returning: str = "NONE"


@lru_cache(_CACHE_SIZE)
def parse_statement(text: str) -> PartiQLStatement:
    grammar = statement_grammar(text)
    verb = grammar.tokens.expect_word(*_VERBS)
    statement = _VERBS[verb](grammar)
    grammar.tokens.expect_end()
    return replace(
        statement,
        parameter_count=grammar.tokens.tokens.count(PARAMETER),
        attributes=tuple(
            dict.fromkeys((*statement.attributes, *(attribute_names(statement.where) if statement.where else ())))
        ),
    )


def _select(grammar: Grammar) -> PartiQLStatement:
    selects_all = bool(grammar.tokens.accept("*"))
    projected = () if selects_all else tuple(_projection(grammar))
    grammar.tokens.expect_word("FROM")
    table = _table(grammar)
    index = _table(grammar) if grammar.tokens.accept(".") else None
    where = _where(grammar)
    names = (*projected, *_order_by(grammar))
    return PartiQLStatement(
        verb="SELECT", table=table, index=index, attributes=names, selects_all=selects_all, where=where
    )


def _insert(grammar: Grammar) -> PartiQLStatement:
    grammar.tokens.expect_word("INTO")
    table = _table(grammar)
    grammar.tokens.expect_word("VALUE")
    grammar.tokens.expect("{")
    item = tuple((Path(name), value) for name, value in map_entries(grammar))
    return PartiQLStatement(
        verb="INSERT", table=table, attributes=tuple(path.attribute for path, _ in item), assignments=item
    )


def _update(grammar: Grammar) -> PartiQLStatement:
    table, changes, where = _table(grammar), tuple(_sections(grammar)), _where(grammar)
    changed = tuple(path.attribute for path, _ in changes)
    assigned = tuple((path, value) for path, value in changes if value)
    return PartiQLStatement(
        verb="UPDATE",
        table=table,
        attributes=(*changed, *(root for _, value in assigned for root in attribute_names(value))),
        assignments=assigned,
        changed=changed,
        where=where,
        returning=_returning(grammar),
    )


def _delete(grammar: Grammar) -> PartiQLStatement:
    grammar.tokens.expect_word("FROM")
    table, where = _table(grammar), _where(grammar)
    return PartiQLStatement(verb="DELETE", table=table, where=where, returning=_returning(grammar))


def _sections(grammar: Grammar) -> Iterator[tuple[Path, Node | None]]:
    verb: str | None = grammar.tokens.expect_word("SET", "REMOVE")
    while verb:
        yield from _changes(grammar, verb)
        verb = grammar.tokens.accept_word("SET", "REMOVE")


def _changes(grammar: Grammar, verb: str) -> Iterator[tuple[Path, Node | None]]:
    while True:
        path = grammar.path(*NAME_TOKENS)
        if verb == "SET":
            grammar.tokens.expect("=")
        yield path, grammar.stored() if verb == "SET" else None
        if not grammar.tokens.accept(","):
            return


def _projection(grammar: Grammar) -> Iterator[str]:
    yield from attribute_names(grammar.stored())
    while grammar.tokens.accept(","):
        yield from attribute_names(grammar.stored())


def _table(grammar: Grammar) -> str:
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
    extent = {"ALL": "ALL", "MODIFIED": "UPDATED"}[grammar.tokens.expect_word("ALL", "MODIFIED")]
    time = grammar.tokens.expect_word("OLD", "NEW")
    grammar.tokens.expect("*")
    return f"{extent}_{time}"


_VERBS: Mapping[str, Callable[[Grammar], PartiQLStatement]] = {
    "SELECT": _select,
    "INSERT": _insert,
    "UPDATE": _update,
    "DELETE": _delete,
}
