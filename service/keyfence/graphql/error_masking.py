"""Errors as a response contains them: message, location, path and code; internal errors are masked."""

from collections.abc import Iterable, Iterator

import structlog
from graphql import GraphQLError
from strawberry.exceptions import StrawberryInputCoercionError

from keyfence.errors import Code, Internal, KeyfenceError

RenderedError = dict[str, object]

MAX_MESSAGE_LENGTH = 500

_log = structlog.get_logger("keyfence.graphql")


class InvalidRequest(Exception):
    """Raised for a request that cannot be executed, with all its errors."""

    def __init__(self, errors: Iterable[RenderedError]) -> None:
        super().__init__("the request cannot be executed")
        self.errors = tuple(errors)


def render(error: KeyfenceError, request_id: str) -> RenderedError:
    if isinstance(error, Internal):
        return mask_internal_error(error, request_id)
    return {"message": error.message, "extensions": {**error.extensions, "code": error.code.value}}


def mask_internal_error(error: BaseException, request_id: str, **where: object) -> RenderedError:
    """Logs the error, and returns one without details but with the request id, by which the log can be searched."""
    _log.error("internal_error", request_id=request_id, exc_info=error, **where)
    return {"message": "internal error", "extensions": {"code": Code.INTERNAL.value, "requestId": request_id}}


def render_request_error(error: GraphQLError) -> RenderedError:
    """Renders an error of parsing, validation or coercion, which is always the caller's fault."""
    return _caller_error(error, _message_without_cause(error))


def render_field_error(error: GraphQLError, request_id: str) -> RenderedError:
    cause = _cause(error)
    if isinstance(cause, Internal) or not isinstance(cause, KeyfenceError | GraphQLError):
        return mask_internal_error(cause, request_id, path=error.path) | _location(error)
    if isinstance(cause, KeyfenceError):
        return render(cause, request_id) | _location(error)
    if isinstance(cause, StrawberryInputCoercionError) or cause.nodes:
        return _caller_error(error, error.message)
    return mask_internal_error(cause, request_id, path=error.path) | _location(error)


def codes(errors: Iterable[RenderedError]) -> Iterator[str]:
    for error in errors:
        extensions = error.get("extensions")
        if isinstance(extensions, dict):
            yield str(extensions.get("code"))


def _caller_error(error: GraphQLError, message: str) -> RenderedError:
    short = message if len(message) <= MAX_MESSAGE_LENGTH else f"{message[:MAX_MESSAGE_LENGTH]}..."
    return {"message": short, "extensions": {"code": Code.BAD_USER_INPUT.value}} | _location(error)


def _location(error: GraphQLError) -> RenderedError:
    location: RenderedError = {}
    if error.locations:
        location["locations"] = [{"line": one.line, "column": one.column} for one in error.locations]
    if error.path is not None:
        location["path"] = error.path
    return location


def _cause(error: GraphQLError) -> Exception:
    """Returns the error that was raised first. graphql-core wraps it, once or twice, to add its location."""
    cause: Exception = error
    while isinstance(cause, GraphQLError) and cause.original_error:
        cause = cause.original_error
    return cause


def _message_without_cause(error: GraphQLError) -> str:
    """Returns the message without the text of an exception of a scalar's parser, which graphql-core quotes."""
    cause = _cause(error)
    if isinstance(cause, GraphQLError | KeyfenceError):
        return error.message
    return error.message.replace(f", but encountered error '{cause}'; found", ", found")
