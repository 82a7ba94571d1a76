"""Lexer of expressions and PartiQL statements."""

import re
from dataclasses import dataclass
from typing import NamedTuple

from keyfence_iam.dynamodb.request_parameters import UnsupportedRequest

_EXPRESSION_TOKEN = re.compile(
    r"[ \t\r\n]+|(?P<word>[A-Za-z_][A-Za-z0-9_]*)|(?P<alias>#[A-Za-z0-9_]+)|(?P<value>:[A-Za-z0-9_]+)"
    r"|(?P<number>[0-9]+)|(?P<symbol><=|>=|<>|[=<>(),.\[\]+-])"
)
_STATEMENT_TOKEN = re.compile(
    r"[ \t\r\n]+|(?P<comment>--|/\*)|(?P<word>[A-Za-z_][A-Za-z0-9_]*)|\"(?P<quoted>(?:[^\"]|\"\")+)\""
    r"|'(?P<string>(?:[^']|'')*)'|(?P<number>[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<symbol><<|>>|<=|>=|<>|!=|[=<>(),.\[\]{}:*?+-])"
)


class Token(NamedTuple):
    """A piece of the text. `kind` is the name of a group in the pattern of the language, or "end"."""

    kind: str
    text: str


_END = Token("end", "")


def expression_tokens(text: str) -> "Tokens":
    """Returns the tokens of a condition, projection or update expression."""
    return Tokens(_split(_EXPRESSION_TOKEN, text))


def statement_tokens(text: str) -> "Tokens":
    """Returns the tokens of a PartiQL statement. A quotation mark inside of quotation marks is written twice."""
    return Tokens([_without_double_quotes(token) for token in _split(_STATEMENT_TOKEN, text)])


def token_positions(text: str) -> list[int]:
    """Returns where each token of a PartiQL statement begins. For a quoted token, that is its quotation mark."""
    return [position for _, position in _tokens_with_positions(_STATEMENT_TOKEN, text)]


def _split(pattern: re.Pattern[str], text: str) -> list[Token]:
    return [token for token, _ in _tokens_with_positions(pattern, text)]


def _tokens_with_positions(pattern: re.Pattern[str], text: str) -> list[tuple[Token, int]]:
    """Returns the tokens, each with the position of its first character in the text."""
    tokens, position = [], 0
    while position < len(text):
        match = pattern.match(text, position)
        if match is None or match.lastgroup == "comment":
            raise UnsupportedRequest(f"unexpected {text[position]!r}")
        if match.lastgroup:
            tokens.append((Token(match.lastgroup, match[match.lastgroup]), position))
        position = match.end()
    return tokens


def _without_double_quotes(token: Token) -> Token:
    quote = {"quoted": '"', "string": "'"}.get(token.kind)
    return Token(token.kind, token.text.replace(quote * 2, quote)) if quote else token


@dataclass(slots=True)
class Tokens:
    """A list of tokens and the current position."""

    tokens: list[Token]
    position: int = 0

    def peek(self, ahead: int = 0) -> Token:
        position = self.position + ahead
        return self.tokens[position] if position < len(self.tokens) else _END

    def take(self) -> Token:
        """Returns the current token and moves to the next one."""
        token = self.peek()
        self.position += 1
        return token

    def accept(self, *symbols: str) -> str | None:
        """Takes the current token if it is one of the symbols. Returns the symbol, or None."""
        token = self.peek()
        if token.kind != "symbol" or token.text not in symbols:
            return None
        self.position += 1
        return token.text

    def accept_word(self, *words: str) -> str | None:
        """Takes the current token if it is one of the keywords, in any case. Returns it in upper case, or None."""
        token = self.peek()
        if token.kind != "word" or token.text.upper() not in words:
            return None
        self.position += 1
        return token.text.upper()

    def expect(self, symbol: str) -> None:
        if not self.accept(symbol):
            raise UnsupportedRequest(f"expected {symbol!r}, not {self.peek().text!r}")

    def expect_word(self, *words: str) -> str:
        word = self.accept_word(*words)
        if word is None:
            raise UnsupportedRequest(f"expected {' or '.join(words)}, not {self.peek().text!r}")
        return word

    def expect_end(self) -> None:
        if self.peek() is not _END:
            raise UnsupportedRequest(f"unexpected {self.peek().text!r}")
