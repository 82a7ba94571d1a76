"""The grammar both share, and its tree."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from keyfence_iam.dynamodb.expressions.tokens import Tokens
from keyfence_iam.dynamodb.parameters import UnsupportedRequest


@dataclass(frozen=True, slots=True)
class Path:
    """An attribute, or something inside it; `root` as it is written."""

    attribute: str
    nested: bool = False


@dataclass(frozen=True, slots=True)
class Placeholder:
    """A value that the call gives under a name."""

    name: str


@dataclass(frozen=True, slots=True)
class Parameter:
    """A value that the call gives by its position."""

    position: int


@dataclass(frozen=True, slots=True)
class LiteralValue:
    """A value written in a statement; only texts are told apart."""

    text: str | None = None


@dataclass(frozen=True, slots=True)
class OperatorNode:
    """An operator or function with its operands."""

    operator: str
    operands: tuple["Node", ...]


Node = Path | Placeholder | Parameter | LiteralValue | OperatorNode


def attribute_names(node: Node) -> Iterator[str]:
    """The attributes that the tree mentions."""
    if isinstance(node, Path):
        yield node.attribute
    elif isinstance(node, OperatorNode):
        for operand in node.operands:
            yield from attribute_names(operand)


def conjuncts(node: Node) -> Iterator[Node]:
    """What must hold together: the operands of AND, however they are grouped."""
    if isinstance(node, OperatorNode) and node.operator == "AND":
        for operand in node.operands:
            yield from conjuncts(operand)
    else:
        yield node


MAX_DEPTH = 40
_COMPARATORS = ("=", "<>", "!=", "<", "<=", ">", ">=")
_CONNECTIVES = frozenset({"AND", "OR", "NOT", "BETWEEN", "IN", "IS", *_COMPARATORS})


@dataclass(slots=True)
class Grammar:
    """Reads by precedence. `functions` tells which of them answer yes or no; `words` cannot name an attribute."""

    tokens: Tokens
    operand: Callable[["Grammar"], Node]
    functions: Mapping[str, bool]
    words: frozenset[str]
    depth: int = 0

    def condition(self) -> Node:
        """Yes or no: comparisons joined by AND, OR and NOT."""
        return self._truth(self.anything())

    def stored(self) -> Node:
        return self._plain(self.value())

    def nested(self) -> Node:
        """A value inside a list, a map or a function."""
        return self._plain(self.anything())

    def value(self) -> Node:
        """What can be compared or stored: operands, functions and sums."""
        node = self._operand()
        while sign := self.tokens.accept("+", "-"):
            node = OperatorNode(sign, (self._plain(node), self._plain(self._operand())))
        return node

    def anything(self) -> Node:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise UnsupportedRequest("nested too deeply")
        node = self._joined("OR", self._conjunction)
        self.depth -= 1
        return node

    def several(self, closing: str) -> tuple[Node, ...]:
        """Values with commas between them, up to the closing symbol."""
        found = [self.nested()]
        while self.tokens.accept(","):
            found.append(self.nested())
        self.tokens.expect(closing)
        return tuple(found)

    def call(self) -> Node | None:
        """A function and its arguments, where one stands here."""
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
        return OperatorNode(word, tuple(self._truth(one) for one in parts)) if len(parts) > 1 else parts[0]

    def _negation(self) -> Node:
        if not self.tokens.accept_word("NOT"):
            return self._comparison()
        return OperatorNode("NOT", (self._truth(self._comparison()),))

    def _comparison(self) -> Node:
        left = self.value()
        if comparator := self.tokens.accept(*_COMPARATORS):
            return OperatorNode(comparator, (self._plain(left), self._plain(self.value())))
        if word := self.tokens.accept_word("BETWEEN", "IN", "IS"):
            return OperatorNode(word, (self._plain(left), *self._compared(word)))
        return left

    def _compared(self, word: str) -> tuple[Node, ...]:
        if word == "IN":
            return self._options()
        if word == "IS":
            self.tokens.accept_word("NOT")
            self.tokens.expect_word("MISSING", "NULL")
            return ()
        low = self._plain(self.value())
        self.tokens.expect_word("AND")
        return low, self._plain(self.value())

    def _options(self) -> tuple[Node, ...]:
        if self.tokens.accept("["):
            return self.several("]")
        self.tokens.expect("(")
        return self.several(")")

    def _operand(self) -> Node:
        if not self.tokens.accept("("):
            return self.operand(self)
        node = self.anything()
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

    def _truth(self, node: Node) -> Node:
        if not self._answers(node):
            raise UnsupportedRequest("a value stands where a condition belongs")
        return node

    def _plain(self, node: Node) -> Node:
        if self._answers(node):
            raise UnsupportedRequest("a condition stands where a value belongs")
        return node

    def _answers(self, node: Node) -> bool:
        if not isinstance(node, OperatorNode):
            return False
        return node.operator in _CONNECTIVES or self.functions.get(node.operator, False)
