"""The rules that every response of the service obeys, whatever was sent."""

from collections.abc import Iterator

import orjson

from keyfence.errors import Code
from tests.fakes.asgi_client import AsgiResponse

CALLERS_CODES = frozenset(Code) - {Code.INTERNAL}
"""The codes of errors that a caller can cause. INTERNAL is an error of the service."""


def problems_of(response: AsgiResponse) -> Iterator[str]:
    """Yields what is wrong with a response. Which data it contains is not checked here."""
    if not 200 <= response.status < 500:
        yield f"status {response.status}"
    if b"Traceback" in response.body:
        yield "a traceback"
    try:
        answer = orjson.loads(response.body)
    except orjson.JSONDecodeError:
        yield "not JSON"
        return
    if not isinstance(answer, dict) or not answer.keys() & {"data", "errors"}:
        yield "neither data nor errors"
        return
    for error in answer.get("errors", ()):
        if error.get("extensions", {}).get("code") not in CALLERS_CODES:
            yield f"an error with a wrong code: {error}"
