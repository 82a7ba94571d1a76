"""How errors look in an answer: a message that may be shown, where it arose, and a code."""

from collections.abc import Iterable, Iterator

import structlog
from graphql import GraphQLError
from strawberry.exceptions import StrawberryInputCoercionError

from keyfence.errors import Code, Internal, KeyfenceError

Rendered = dict[str, object]

LONGEST_MESSAGE = 500

_log = structlog.get_logger("keyfence.graphql")


class InvalidRequest(Exception):
    """A request that is not executed: its text, its variables or what it asks for will not do."""

    def __init__(self, errors: Iterable[Rendered]) -> None:
        super().__init__("the request is refused")
        self.errors = tuple(errors)


def render(error: KeyfenceError, request_id: str) -> Rendered:
    if isinstance(error, Internal):
        return mask_internal_error(error, request_id)
    return {"message": error.message, "extensions": {**error.extensions, "code": error.code.value}}


def mask_internal_error(error: BaseException, request_id: str, **where: object) -> Rendered:
    """The log gets the error, the caller gets the id to ask about it."""
    _log.error("internal_error", request_id=request_id, exc_info=error, **where)
    return {"message": "internal error", "extensions": {"code": Code.INTERNAL.value, "requestId": request_id}}


def render_request_error(error: GraphQLError) -> Rendered:
    """An error of parsing, validation or coercion: always the caller's."""
    return _of_the_caller(error, _without_foreign_words(error))


def render_field_error(error: GraphQLError, request_id: str) -> Rendered:
    cause = _cause(error)
    if isinstance(cause, Internal) or not isinstance(cause, KeyfenceError | GraphQLError):
        return mask_internal_error(cause, request_id, path=error.path) | _place(error)
    if isinstance(cause, KeyfenceError):
        return render(cause, request_id) | _place(error)
    if isinstance(cause, StrawberryInputCoercionError) or cause.nodes:
        return _of_the_caller(error, error.message)
    return mask_internal_error(cause, request_id, path=error.path) | _place(error)


def codes(errors: Iterable[Rendered]) -> Iterator[str]:
    for error in errors:
        extensions = error.get("extensions")
        if isinstance(extensions, dict):
            yield str(extensions.get("code"))


def _of_the_caller(error: GraphQLError, message: str) -> Rendered:
    shown = message if len(message) <= LONGEST_MESSAGE else f"{message[:LONGEST_MESSAGE]}..."
    return {"message": shown, "extensions": {"code": Code.BAD_USER_INPUT.value}} | _place(error)


def _place(error: GraphQLError) -> Rendered:
    place: Rendered = {}
    if error.locations:
        place["locations"] = [{"line": spot.line, "column": spot.column} for spot in error.locations]
    if error.path is not None:
        place["path"] = error.path
    return place


def _cause(error: GraphQLError) -> Exception:
    """The first error that was raised: execution wraps it to tell its place, and coercion once more."""
    cause: Exception = error
    while isinstance(cause, GraphQLError) and cause.original_error:
        cause = cause.original_error
    return cause


def _without_foreign_words(error: GraphQLError) -> str:
    """A scalar's parser may have raised anything, and graphql-core quotes it."""
    cause = _cause(error)
    if isinstance(cause, GraphQLError | KeyfenceError):
        return error.message
    return error.message.replace(f", but encountered error '{cause}'; found", ", found")
