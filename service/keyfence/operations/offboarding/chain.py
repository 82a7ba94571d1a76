"""The lines of an export: each is an item and the hash of that item and of all before it."""

from collections.abc import Iterable
from hashlib import sha256

import orjson

from keyfence.store.codec import Item

HASH, ITEM, END = b'{"hash":"', b'","item":', b"}\n"
_DIGITS = 64


class BadLine(ValueError):
    """A line that is not the one that follows."""


def genesis(export: str) -> str:
    """No two exports begin alike, so that no line of one fits into another."""
    return sha256(export.encode()).hexdigest()


def chained(head: str, items: Iterable[Item]) -> tuple[str, bytes]:
    """The lines of these items after that head, and the head after them."""
    lines = []
    for item in items:
        text = orjson.dumps(item, option=orjson.OPT_SORT_KEYS)
        head = _next(head, text)
        lines.append(HASH + head.encode() + ITEM + text + END)
    return head, b"".join(lines)


def follow(head: str, line: bytes) -> tuple[str, bytes]:
    """The head after this line, and its item as it is spelled."""
    start = len(HASH) + _DIGITS
    told, text = line[len(HASH) : start], line[start + len(ITEM) : -len(END)]
    if line != HASH + told + ITEM + text + END:
        raise BadLine("it is not spelled as a line of an export")
    after = _next(head, text)
    if told != after.encode():
        raise BadLine("it does not fit its hash, or what stands before it")
    return after, text


def key_of(text: bytes) -> Item:
    item = orjson.loads(text)
    return {"PK": item["PK"], "SK": item["SK"]}


def _next(head: str, text: bytes) -> str:
    return sha256(bytes.fromhex(head) + text).hexdigest()
