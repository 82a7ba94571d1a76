"""Sealed cursors: a position in a list that only its own tenant, pattern and arguments can use."""

import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import orjson
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV

from keyfence.errors import BadInput

LIFETIME_HOURS = 7 * 24
MAX_CURSOR_LENGTH = 12_288
"""The largest keys, all of it characters that JSON doubles."""
_FORMAT = b"keyfence-cursor-1"


class CursorPosition(NamedTuple):
    """The sort key of an item in the list, its table key where the list is an index, its bucket where it has some."""

    sort: str
    table_partition: str = ""
    table_sort: str = ""
    bucket: str = ""


@dataclass(frozen=True, slots=True)
class CursorScope:
    """What a cursor belongs to."""

    fence: str
    pattern: str
    arguments: str

    def associated(self) -> list[bytes]:
        return [_FORMAT, self.fence.encode(), self.pattern.encode(), self.arguments.encode()]


class CursorCodec:
    """Seals with the first key and opens with any, so that keys can be rotated without breaking a page in progress."""

    def __init__(self, keys: Sequence[bytes], *, clock: Callable[[], float] = time.time) -> None:
        if not keys or any(len(key) != 32 for key in keys):
            raise ValueError("cursor keys must be one or more keys of 32 bytes")
        self._ciphers = [AESSIV(key) for key in keys]
        self._clock = clock

    def encode(self, position: CursorPosition, scope: CursorScope) -> str:
        """Deterministic within the hour: the same item of the same list keeps its cursor."""
        plain = orjson.dumps([self._hour(), *position])
        return urlsafe_b64encode(self._ciphers[0].encrypt(plain, scope.associated())).rstrip(b"=").decode()

    def decode(self, cursor: str, scope: CursorScope) -> CursorPosition:
        hour, *parts = orjson.loads(self._plain(cursor, scope))
        if not 0 <= self._hour() - hour <= LIFETIME_HOURS:
            raise BadInput("the cursor is too old; start again from the first page", field="after")
        return CursorPosition(*parts)

    def _plain(self, cursor: str, scope: CursorScope) -> bytes:
        sealed = _decoded(cursor)
        for cipher in self._ciphers:
            try:
                return cipher.decrypt(sealed, scope.associated())
            except (InvalidTag, ValueError):
                continue
        raise BadInput("the cursor is not one of this list; use an endCursor of the same query", field="after")

    def _hour(self) -> int:
        return int(self._clock() // 3600)


def _decoded(cursor: str) -> bytes:
    if len(cursor) > MAX_CURSOR_LENGTH or not cursor.isascii():
        return b""
    try:
        sealed = urlsafe_b64decode(cursor.encode() + b"==")
    except ValueError:
        return b""
    # Base64 ignores stray characters and trailing bits: only the one spelling that we issued is a cursor.
    return sealed if urlsafe_b64encode(sealed).rstrip(b"=") == cursor.encode() else b""
