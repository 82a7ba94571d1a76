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
"""A cursor is valid for a week, so that a client can continue a list on another day."""
MAX_CURSOR_LENGTH = 12_288
"""How many characters a cursor may have: enough for the longest keys, even if JSON escapes all their characters."""
_FORMAT = b"keyfence-cursor-1"
"""The version of the format. Cursors of another version cannot be decrypted."""


class CursorPosition(NamedTuple):
    """The position of an item in a list. Empty texts stand for parts that the list does not have."""

    sort: str
    """The item's sort key in the table or index that the list reads."""
    table_partition: str = ""
    """The item's partition key in the table, without the prefix of the fence. Only for lists that read an index."""
    table_sort: str = ""
    """The item's sort key in the table. Only for lists that read an index."""
    bucket: str = ""
    """The partition key of the item's time bucket, without fence and shard. Only for lists in time buckets: such a list
    has one partition for each day or month."""


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
    """Encrypts cursors with the first key, and decrypts them with any key.

    Keys can be rotated: put the new key first, and remove the old key when its last cursors have expired."""

    def __init__(self, keys: Sequence[bytes], *, clock: Callable[[], float] = time.time) -> None:
        if not keys or any(len(key) != 32 for key in keys):
            raise ValueError("there must be at least one cursor key, and each must have 32 bytes")
        self._ciphers = [AESSIV(key) for key in keys]
        self._clock = clock

    def encode(self, position: CursorPosition, scope: CursorScope) -> str:
        """Returns the cursor of a position. Within one hour, the same position always has the same cursor."""
        plain = orjson.dumps([self._current_hour(), *position])
        return urlsafe_b64encode(self._ciphers[0].encrypt(plain, scope.associated_data())).rstrip(b"=").decode()

    def decode(self, cursor: str, scope: CursorScope) -> CursorPosition:
        """Returns the position of a cursor.

        Raises BadInput if the cursor is too old, belongs to another list, or is not a cursor."""
        hour, *position = orjson.loads(self._decrypt(cursor, scope))
        if not 0 <= self._current_hour() - hour <= LIFETIME_HOURS:
            raise BadInput("the cursor is too old; start again from the first page", field="after")
        return CursorPosition(*position)

    def _decrypt(self, cursor: str, scope: CursorScope) -> bytes:
        encrypted = _from_base64(cursor)
        for cipher in self._ciphers:
            try:
                return cipher.decrypt(encrypted, scope.associated_data())
            except (InvalidTag, ValueError):
                continue
        raise BadInput("the cursor does not belong to this list; use an endCursor of the same query", field="after")

    def _current_hour(self) -> int:
        return int(self._clock() // 3600)


def _from_base64(cursor: str) -> bytes:
    """Returns the encrypted bytes of a cursor, or an empty bytes object if the text cannot be a cursor."""
    if len(cursor) > MAX_CURSOR_LENGTH or not cursor.isascii():
        return b""
    try:
        encrypted = urlsafe_b64decode(cursor.encode() + b"==")
    except ValueError:
        return b""
    # The decoder ignores unknown characters and unused bits at the end, so several texts would mean the same cursor.
    return encrypted if urlsafe_b64encode(encrypted).rstrip(b"=") == cursor.encode() else b""
