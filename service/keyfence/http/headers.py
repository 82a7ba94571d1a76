"""Reading the headers of a request."""

from starlette.types import Scope


def header(scope: Scope, name: bytes) -> str | None:
    """The value of a header; one that is sent several times is one list."""
    values = [value for key, value in scope["headers"] if key == name]
    return b", ".join(values).decode("latin-1") if values else None
