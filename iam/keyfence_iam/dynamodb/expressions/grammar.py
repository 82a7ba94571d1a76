"""The grammar that expressions and PartiQL share, and the tree that it produces."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from keyfence_iam.dynamodb.expressions.tokens import Tokens
from keyfence_iam.dynamodb.parameters import UnsupportedRequest

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
"""Functions of expressions, and whether they return a boolean."""

MAX_DEPTH = 40
_COMPARATORS = ("=", "<>", "!=", "<", "<=", ">", ">=")
_CONNECTIVES = frozenset({"AND", "OR", "NOT", "BETWEEN", "IN", "IS", *_COMPARATORS})


@dataclass(frozen=True, slots=True)
class Path:
    """An attribute as it is written, which may be a placeholder. `nested` means something inside of it."""

    attribute: str
    nested: bool = False


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A value in ExpressionAttributeValues, such as `:v`."""

    name: str


@dataclass(frozen=True, slots=True)
class Parameter:
    """A value in the parameters of a PartiQL statement: a `?`, by its position."""

    position: int


@dataclass(frozen=True, slots=True)
class LiteralValue:
    """A value in a PartiQL statement. `text` is None unless it is a string."""

    text: str | None = None


@dataclass(frozen=True, slots=True)
class OperatorNode:
    """An operator or a function with its operands."""

    operator: str
    operands: tuple["Node", ...]


Node = Path | Placeholder | Parameter | LiteralValue | OperatorNode


def attribute_names(node: Node) -> Iterator[str]:
    """Yield the attributes that a tree mentions."""
    if isinstance(node, Path):
        yield node.attribute
    elif isinstance(node, OperatorNode):
        for operand in node.operands:
            yield from attribute_names(operand)


def conjuncts(node: Node) -> Iterator[Node]:
    """Yield the operands of AND, also of nested ones. They must hold together."""
    if isinstance(node, OperatorNode) and node.operator == "AND":
        for operand in node.operands:
            yield from conjuncts(operand)
    else:
        yield node


@dataclass(slots=True)
class Grammar:
    """A recursive descent parser.

    `operand` parses an operand of the language. `functions` says of each function whether it returns a boolean.
    `words` are reserved: they cannot name an attribute.
    """

    tokens: Tokens
    operand: Callable[["Grammar"], Node]
    functions: Mapping[str, bool]
    words: frozenset[str]
    depth: int = 0

    def condition(self) -> Node:
        """Parse comparisons, joined by AND, OR and NOT."""
        return self._require_condition(self.expression())

    def stored(self) -> Node:
        """Parse a value that an update stores."""
        return self._require_value(self.value())

    def nested(self) -> Node:
        """Parse a value inside of a list, a map or a function."""
        return self._require_value(self.expression())

    def value(self) -> Node:
        """Parse what can be compared or stored: operands, functions and sums."""
        node = self._operand()
        while sign := self.tokens.accept("+", "-"):
            node = OperatorNode(sign, (self._require_value(node), self._require_value(self._operand())))
        return node

    def expression(self) -> Node:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise UnsupportedRequest(f"an expression is nested more than {MAX_DEPTH} levels deep")
        node = self._joined("OR", self._conjunction)
        self.depth -= 1
        return node

    def several(self, closing: str) -> tuple[Node, ...]:
        """Parse values with commas between them, up to the closing symbol."""
        values = [self.nested()]
        while self.tokens.accept(","):
            values.append(self.nested())
        self.tokens.expect(closing)
        return tuple(values)

    def call(self) -> Node | None:
        """Parse a function and its arguments. Returns None if the next token does not begin a function."""
        name = self.tokens.peek()
        if name.kind != "word" or self.tokens.peek(1) != ("symbol", "(") or name.text.upper() in self.words:
            return None
        if name.text not in self.functions:
            raise UnsupportedRequest(f"unknown function {name.text!r}")
        self.tokens.position += 2
        return OperatorNode(name.text, self.several(")"))

    def path(self, *kinds: str) -> Path:
        root, nested = self._name(kinds), False
        while step := self.tokens.accept(".", "["):
            nested = True
            if step == ".":
                self._name(kinds)
            else:
                self._position()
        return Path(root, nested)

    def _conjunction(self) -> Node:
        return self._joined("AND", self._negation)

    def _joined(self, word: str, part: Callable[[], Node]) -> Node:
        parts = [part()]
        while self.tokens.accept_word(word):
            parts.append(part())
        return OperatorNode(word, tuple(self._require_condition(one) for one in parts)) if len(parts) > 1 else parts[0]

    def _negation(self) -> Node:
        if not self.tokens.accept_word("NOT"):
            return self._comparison()
        return OperatorNode("NOT", (self._require_condition(self._comparison()),))

    def _comparison(self) -> Node:
        left = self.value()
        if comparator := self.tokens.accept(*_COMPARATORS):
            return OperatorNode(comparator, (self._require_value(left), self._require_value(self.value())))
        if word := self.tokens.accept_word("BETWEEN", "IN", "IS"):
            return OperatorNode(word, (self._require_value(left), *self._compared(word)))
        return left

    def _compared(self, word: str) -> tuple[Node, ...]:
        if word == "IN":
            return self._options()
        if word == "IS":
            self.tokens.accept_word("NOT")
            self.tokens.expect_word("MISSING", "NULL")
            return ()
        low = self._require_value(self.value())
        self.tokens.expect_word("AND")
        return low, self._require_value(self.value())

    def _options(self) -> tuple[Node, ...]:
        if self.tokens.accept("["):
            return self.several("]")
        self.tokens.expect("(")
        return self.several(")")

    def _operand(self) -> Node:
        if not self.tokens.accept("("):
            return self.operand(self)
        node = self.expression()
        self.tokens.expect(")")
        return node

    def _name(self, kinds: tuple[str, ...]) -> str:
        token = self.tokens.take()
        if token.kind not in kinds or (token.kind == "word" and token.text.upper() in self.words):
            raise UnsupportedRequest(f"expected an attribute, not {token.text!r}")
        return token.text

    def _position(self) -> None:
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
        return node.operator in _CONNECTIVES or self.functions.get(node.operator, False)
