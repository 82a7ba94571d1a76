"""The parser that expressions and PartiQL statements share, and the tree that it produces."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from keyfence_iam.dynamodb.expressions.tokens import Tokens
from keyfence_iam.dynamodb.request_parameters import UnsupportedRequest

FUNCTIONS: Mapping[str, bool] = {
    "attribute_exists": True,
    "attribute_not_exists": True,
    "attribute_type": True,
    "begins_with": True,
    "contains": True,
    "size": False,
    "if_not_exists": False,
    "list_append": False,
}
"""The functions of expressions. The value is True if the function returns a boolean."""

MAX_DEPTH = 40
"""How deep parentheses, lists and maps can be nested. So the parser stays far below the recursion limit of Python."""
_COMPARATORS = ("=", "<>", "!=", "<", "<=", ">", ">=")
_BOOLEAN_OPERATORS = frozenset({"AND", "OR", "NOT", "BETWEEN", "IN", "IS", *_COMPARATORS})


@dataclass(frozen=True, slots=True)
class Path:
    """A path to an attribute, or to a value inside of the attribute."""

    attribute: str
    """The name of the attribute in the text, which can be a `#placeholder`."""
    is_nested: bool = False
    """Whether the path leads to a value inside of the attribute, such as `a.b` or `a[0]`."""


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A value in ExpressionAttributeValues, such as `:v`."""

    name: str


@dataclass(frozen=True, slots=True)
class Parameter:
    """A `?` in a PartiQL statement. `position` is its index in the list of parameters."""

    position: int


@dataclass(frozen=True, slots=True)
class LiteralValue:
    """A value that is written in a PartiQL statement. `text` is None unless the value is a string."""

    text: str | None = None


@dataclass(frozen=True, slots=True)
class OperatorNode:
    """An operator or a function with its operands."""

    operator: str
    operands: tuple["Node", ...]


Node = Path | Placeholder | Parameter | LiteralValue | OperatorNode


def attribute_names(node: Node) -> Iterator[str]:
    """Yields the attributes that a tree mentions."""
    if isinstance(node, Path):
        yield node.attribute
    elif isinstance(node, OperatorNode):
        for operand in node.operands:
            yield from attribute_names(operand)


def conjuncts(node: Node) -> Iterator[Node]:
    """Yields the conditions that are joined by AND, also by a nested AND. Yields the node itself if it is no AND."""
    if isinstance(node, OperatorNode) and node.operator == "AND":
        for operand in node.operands:
            yield from conjuncts(operand)
    else:
        yield node


@dataclass(slots=True)
class Grammar:
    """A recursive descent parser. Each method parses one construct and moves `tokens` behind it."""

    tokens: Tokens
    parse_operand: Callable[["Grammar"], Node]
    """Parses an operand, which differs between expressions and PartiQL."""
    functions: Mapping[str, bool]
    """The functions of the language. The value is True if the function returns a boolean."""
    reserved_words: frozenset[str]
    """Words that cannot name an attribute."""
    depth: int = 0

    def condition(self) -> Node:
        """Parses comparisons, joined by AND, OR and NOT."""
        return self._require_condition(self.expression())

    def stored_value(self) -> Node:
        """Parses a value that an update stores."""
        return self._require_value(self.value())

    def nested_value(self) -> Node:
        """Parses a value inside of a list, a map or a function."""
        return self._require_value(self.expression())

    def value(self) -> Node:
        """Parses an operand, a function, or a sum or difference of them."""
        node = self._operand_or_parentheses()
        while sign := self.tokens.accept("+", "-"):
            node = OperatorNode(sign, (self._require_value(node), self._require_value(self._operand_or_parentheses())))
        return node

    def expression(self) -> Node:
        """Parses a condition or a value."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise UnsupportedRequest(f"an expression is nested more than {MAX_DEPTH} levels deep")
        node = self._joined("OR", self._conjunction)
        self.depth -= 1
        return node

    def value_list(self, closing: str) -> tuple[Node, ...]:
        """Parses values with commas between them, up to the closing symbol."""
        values = [self.nested_value()]
        while self.tokens.accept(","):
            values.append(self.nested_value())
        self.tokens.expect(closing)
        return tuple(values)

    def call(self) -> Node | None:
        """Parses a function and its arguments. Returns None if the next token does not begin a function."""
        name = self.tokens.peek()
        if name.kind != "word" or self.tokens.peek(1) != ("symbol", "(") or name.text.upper() in self.reserved_words:
            return None
        if name.text not in self.functions:
            raise UnsupportedRequest(f"unknown function {name.text!r}")
        self.tokens.position += 2
        return OperatorNode(name.text, self.value_list(")"))

    def path(self, *name_kinds: str) -> Path:
        """Parses a path such as `a.b[0]`. `name_kinds` are the kinds of tokens that can name an attribute."""
        attribute, is_nested = self._name(name_kinds), False
        while step := self.tokens.accept(".", "["):
            is_nested = True
            if step == ".":
                self._name(name_kinds)
            else:
                self._list_position()
        return Path(attribute, is_nested)

    def _conjunction(self) -> Node:
        return self._joined("AND", self._negation)

    def _joined(self, word: str, parse_part: Callable[[], Node]) -> Node:
        parts = [parse_part()]
        while self.tokens.accept_word(word):
            parts.append(parse_part())
        if len(parts) == 1:
            return parts[0]
        return OperatorNode(word, tuple(self._require_condition(part) for part in parts))

    def _negation(self) -> Node:
        if not self.tokens.accept_word("NOT"):
            return self._comparison()
        return OperatorNode("NOT", (self._require_condition(self._comparison()),))

    def _comparison(self) -> Node:
        left = self.value()
        if comparator := self.tokens.accept(*_COMPARATORS):
            return OperatorNode(comparator, (self._require_value(left), self._require_value(self.value())))
        if word := self.tokens.accept_word("BETWEEN", "IN", "IS"):
            return OperatorNode(word, (self._require_value(left), *self._comparison_operands(word)))
        return left

    def _comparison_operands(self, word: str) -> tuple[Node, ...]:
        """Parses the operands after BETWEEN, IN or IS."""
        if word == "IN":
            return self._in_list()
        if word == "IS":
            self.tokens.accept_word("NOT")
            self.tokens.expect_word("MISSING", "NULL")
            return ()
        low = self._require_value(self.value())
        self.tokens.expect_word("AND")
        return low, self._require_value(self.value())

    def _in_list(self) -> tuple[Node, ...]:
        if self.tokens.accept("["):
            return self.value_list("]")
        self.tokens.expect("(")
        return self.value_list(")")

    def _operand_or_parentheses(self) -> Node:
        if not self.tokens.accept("("):
            return self.parse_operand(self)
        node = self.expression()
        self.tokens.expect(")")
        return node

    def _name(self, name_kinds: tuple[str, ...]) -> str:
        token = self.tokens.take()
        if token.kind not in name_kinds or (token.kind == "word" and token.text.upper() in self.reserved_words):
            raise UnsupportedRequest(f"expected an attribute, not {token.text!r}")
        return token.text

    def _list_position(self) -> None:
        if self.tokens.take().kind != "number":
            raise UnsupportedRequest("expected a position in a list")
        self.tokens.expect("]")

    def _require_condition(self, node: Node) -> Node:
        if not self._is_condition(node):
            raise UnsupportedRequest("expected a condition, not a value")
        return node

    def _require_value(self, node: Node) -> Node:
        if self._is_condition(node):
            raise UnsupportedRequest("expected a value, not a condition")
        return node

    def _is_condition(self, node: Node) -> bool:
        if not isinstance(node, OperatorNode):
            return False
        return node.operator in _BOOLEAN_OPERATORS or self.functions.get(node.operator, False)
