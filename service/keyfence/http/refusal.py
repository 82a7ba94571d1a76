"""A request that HTTP itself already refuses."""

from collections.abc import Sequence

from keyfence.errors import Code
from keyfence.graphql.errors import Rendered

Headers = Sequence[tuple[bytes, bytes]]

STATUS = {
    Code.UNAUTHENTICATED: 401,
    Code.FORBIDDEN: 403,
    Code.NOT_FOUND: 404,
    Code.CONFLICT: 409,
    Code.BAD_USER_INPUT: 400,
    Code.THROTTLED: 429,
    Code.QUOTA_EXCEEDED: 429,
    Code.INTERNAL: 500,
}


class HttpRefusal(Exception):
    """Answered with this status and one error."""

    def __init__(self, status: int, message: str, *, code: Code = Code.BAD_USER_INPUT, headers: Headers = ()) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers
        self.errors: tuple[Rendered, ...] = ({"message": message, "extensions": {"code": code.value}},)


def method_not_allowed(message: str, *allowed: str) -> HttpRefusal:
    return HttpRefusal(405, message, headers=[(b"allow", ", ".join(allowed).encode())])
