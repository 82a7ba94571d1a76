"""Renders errors for a response: message, code, location and path. The text of an internal error is masked."""

from collections.abc import Iterable, Iterator

import structlog
from graphql import GraphQLError
from strawberry.exceptions import StrawberryInputCoercionError

from keyfence.errors import Code, Internal, KeyfenceError

RenderedError = dict[str, object]

MAX_MESSAGE_LENGTH = 500
"""How many characters of a message are returned. graphql-core quotes the caller's value, which can be long."""

_log = structlog.get_logger("keyfence.graphql")


class InvalidRequest(Exception):
    """Raised for a request that cannot be executed. `errors` says why. A request can have several errors."""

    def __init__(self, errors: Iterable[RenderedError]) -> None:
        super().__init__("the request cannot be executed")
        self.errors = tuple(errors)


def render_keyfence_error(error: KeyfenceError, request_id: str) -> RenderedError:
    if isinstance(error, Internal):
        return mask_internal_error(error, request_id)
    return {"message": error.message, "extensions": {**error.extensions, "code": error.code.value}}


def mask_internal_error(error: BaseException, request_id: str, **log_fields: object) -> RenderedError:
    """Logs the error, and returns an error without its text. The request id leads an operator to the log line."""
    _log.error("internal_error", request_id=request_id, exc_info=error, **log_fields)
    return {"message": "internal error", "extensions": {"code": Code.INTERNAL.value, "requestId": request_id}}


def render_request_error(error: GraphQLError) -> RenderedError:
    """Renders an error of parsing, validation or coercion, which is always the caller's fault."""
    return _caller_error(error, _message_without_cause(error))


def render_field_error(error: GraphQLError, request_id: str) -> RenderedError:
    """Renders an error that was raised while a field was resolved."""
    cause = _first_cause(error)
    if isinstance(cause, KeyfenceError) and not isinstance(cause, Internal):
        return render_keyfence_error(cause, request_id) | _location(error)
    if _is_bad_argument(cause):
        return _caller_error(error, error.message)
    return mask_internal_error(cause, request_id, path=error.path) | _location(error)


def _is_bad_argument(cause: Exception) -> bool:
    """Whether an argument of the caller caused the error. graphql-core sets `nodes` for an error of an argument, but
    not if the result of a resolver cannot be serialized."""
    return isinstance(cause, StrawberryInputCoercionError) or (isinstance(cause, GraphQLError) and bool(cause.nodes))


def error_codes(errors: Iterable[RenderedError]) -> Iterator[str]:
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
        location["locations"] = [{"line": position.line, "column": position.column} for position in error.locations]
    if error.path is not None:
        location["path"] = error.path
    return location


def _first_cause(error: GraphQLError) -> Exception:
    """Returns the exception that was raised first. graphql-core wraps it once or twice to add its location."""
    cause: Exception = error
    while isinstance(cause, GraphQLError) and cause.original_error:
        cause = cause.original_error
    return cause


def _message_without_cause(error: GraphQLError) -> str:
    """Returns the message without the text of an unexpected exception, which graphql-core quotes.

    Such an exception comes from the parser of a scalar, and its text may show internals."""
    cause = _first_cause(error)
    if isinstance(cause, GraphQLError | KeyfenceError):
        return error.message
    return error.message.replace(f", but encountered error '{cause}'; found", ", found")
