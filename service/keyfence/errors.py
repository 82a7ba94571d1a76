"""`KeyfenceError` and its subclasses, one for each error code that callers see."""

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
    """An error whose message may be shown to the caller. The response has `extensions` beside `code`."""

    code: ClassVar[Code] = Code.INTERNAL

    def __init__(self, message: str, **extensions: object) -> None:
        super().__init__(message)
        self.message = message
        self.extensions: Mapping[str, object] = extensions


class Unauthenticated(KeyfenceError):
    """The request has no token, or one that is not accepted."""

    code = Code.UNAUTHENTICATED


class Forbidden(KeyfenceError):
    """The caller is known but may not do this."""

    code = Code.FORBIDDEN


class NotFound(KeyfenceError):
    """The tenant has no such object."""

    code = Code.NOT_FOUND


class Conflict(KeyfenceError):
    """The object is not in the state that the change requires."""

    code = Code.CONFLICT


class BadInput(KeyfenceError):
    """The caller sent an invalid value. `field` names it."""

    code = Code.BAD_USER_INPUT


class Throttled(KeyfenceError):
    """The request exceeds a rate, or a service that it needs is busy. `retryAfterMs` says when to retry."""

    code = Code.THROTTLED


class QuotaExceeded(KeyfenceError):
    """The tenant has used up a quota, such as its number of users."""

    code = Code.QUOTA_EXCEEDED


class Internal(KeyfenceError):
    """An error of the service itself. The message goes to the log only."""

    code = Code.INTERNAL
