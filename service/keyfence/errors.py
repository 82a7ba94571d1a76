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
    """An error that the caller gets, with its message, its `code` and its `extensions`. The message of `Internal` is
    hidden."""

    code: ClassVar[Code] = Code.INTERNAL

    def __init__(self, message: str, **extensions: object) -> None:
        super().__init__(message)
        self.message = message
        self.extensions: Mapping[str, object] = extensions


class Unauthenticated(KeyfenceError):
    """The request has no token, or its token is not accepted."""

    code = Code.UNAUTHENTICATED


class Forbidden(KeyfenceError):
    """The token is valid, but its role or scope does not allow the request, or the tenant is not active."""

    code = Code.FORBIDDEN


class NotFound(KeyfenceError):
    """The object does not exist, or it belongs to another tenant."""

    code = Code.NOT_FOUND


class Conflict(KeyfenceError):
    """The object is not in the state that the change requires."""

    code = Code.CONFLICT


class BadInput(KeyfenceError):
    """The caller sent an invalid value. The extension `field`, if it is set, names the value."""

    code = Code.BAD_USER_INPUT


class Throttled(KeyfenceError):
    """The request exceeds a rate, or AWS is busy. The extension `retryAfterMs` says when to retry."""

    code = Code.THROTTLED


class QuotaExceeded(KeyfenceError):
    """The tenant has used up a quota, such as its number of users."""

    code = Code.QUOTA_EXCEEDED


class Internal(KeyfenceError):
    """An error of the service itself. The message is only logged. The caller gets the text "internal error"."""

    code = Code.INTERNAL
