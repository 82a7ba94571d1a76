"""Encrypted cursors: a position in a list, valid only for the same tenant, access pattern and arguments."""

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
"""Enough for the longest keys, if JSON escapes each of their characters with a second one."""
_FORMAT = b"keyfence-cursor-1"


class CursorPosition(NamedTuple):
    """The sort key of an item in a list; also its table key if the list is an index, and its time bucket if any."""

    sort: str
    table_partition: str = ""
    table_sort: str = ""
    bucket: str = ""


@dataclass(frozen=True, slots=True)
class CursorScope:
    """The list that a cursor belongs to: its fence, access pattern and arguments."""

    fence: str
    pattern: str
    arguments: str

    def associated_data(self) -> list[bytes]:
        """Returns the data that the encryption authenticates. A cursor cannot be decrypted with other data."""
        return [_FORMAT, self.fence.encode(), self.pattern.encode(), self.arguments.encode()]


class CursorCodec:
    """Encrypts cursors with the first key and decrypts them with any. Keys can therefore be rotated while clients hold
    cursors."""

    def __init__(self, keys: Sequence[bytes], *, clock: Callable[[], float] = time.time) -> None:
        if not keys or any(len(key) != 32 for key in keys):
            raise ValueError("cursor keys must be one or more keys of 32 bytes")
        self._ciphers = [AESSIV(key) for key in keys]
        self._clock = clock

    def encode(self, position: CursorPosition, scope: CursorScope) -> str:
        """Returns the cursor of a position. Within one hour, the same position has the same cursor."""
        plain = orjson.dumps([self._hour(), *position])
        return urlsafe_b64encode(self._ciphers[0].encrypt(plain, scope.associated_data())).rstrip(b"=").decode()

    def decode(self, cursor: str, scope: CursorScope) -> CursorPosition:
        """Returns the position of a cursor. Raises BadInput if the cursor is not from this scope, or too old."""
        hour, *position = orjson.loads(self._decrypt(cursor, scope))
        if not 0 <= self._hour() - hour <= LIFETIME_HOURS:
            raise BadInput("the cursor is too old; start again from the first page", field="after")
        return CursorPosition(*position)

    def _decrypt(self, cursor: str, scope: CursorScope) -> bytes:
        encrypted = _from_base64(cursor)
        for cipher in self._ciphers:
            try:
                return cipher.decrypt(encrypted, scope.associated_data())
            except (InvalidTag, ValueError):
                continue
        raise BadInput("the cursor is not one of this list; use an endCursor of the same query", field="after")

    def _hour(self) -> int:
        return int(self._clock() // 3600)


def _from_base64(cursor: str) -> bytes:
    if len(cursor) > MAX_CURSOR_LENGTH or not cursor.isascii():
        return b""
    try:
        encrypted = urlsafe_b64decode(cursor.encode() + b"==")
    except ValueError:
        return b""
    # The decoder ignores stray characters and trailing bits. Only the text that `encode` returned is a cursor.
    return encrypted if urlsafe_b64encode(encrypted).rstrip(b"=") == cursor.encode() else b""
