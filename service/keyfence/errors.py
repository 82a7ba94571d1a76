"""What can go wrong, in the few nouns that callers are told."""

from collections.abc import Mapping
from enum import StrEnum
from typing import ClassVar


class Code(StrEnum):
    """The values of `errors[].extensions.code`."""

    UNAUTHENTICATED = "UNAUTHENTICATED"
    FORBIDDEN = "FORBIDDEN"
    NOT_FOUND = "NOT_FOUND"
    CONFLICT = "CONFLICT"
    BAD_USER_INPUT = "BAD_USER_INPUT"
    THROTTLED = "THROTTLED"
    QUOTA_EXCEEDED = "QUOTA_EXCEEDED"
    INTERNAL = "INTERNAL"


class KeyfenceError(Exception):
    """An error whose message may be shown to the caller; `extensions` join `code` in the answer."""

    code: ClassVar[Code] = Code.INTERNAL

    def __init__(self, message: str, **extensions: object) -> None:
        super().__init__(message)
        self.message = message
        self.extensions: Mapping[str, object] = extensions


class Unauthenticated(KeyfenceError):
    """Nobody we know: no token, or not one that we accept."""

    code = Code.UNAUTHENTICATED


class Forbidden(KeyfenceError):
    """Somebody we know, who may not do this."""

    code = Code.FORBIDDEN


class NotFound(KeyfenceError):
    """No such thing in this tenant."""

    code = Code.NOT_FOUND


class Conflict(KeyfenceError):
    """The thing is not in the state that this change needs."""

    code = Code.CONFLICT


class BadInput(KeyfenceError):
    """The caller sent something that cannot be used; `field` names it."""

    code = Code.BAD_USER_INPUT


class Throttled(KeyfenceError):
    """Too busy just now; `retryAfterMs` says when to come again."""

    code = Code.THROTTLED


class QuotaExceeded(KeyfenceError):
    """The tenant's allowance is used up."""

    code = Code.QUOTA_EXCEEDED


class Internal(KeyfenceError):
    """Our fault; the message is for the log and is never shown."""

    code = Code.INTERNAL
