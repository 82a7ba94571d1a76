"""`mutation(needs=...)`; which fields of an input were given."""

from collections.abc import Awaitable, Callable
from dataclasses import fields
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import strawberry

from keyfence.auth.principal import Role
from keyfence.errors import BadInput

A = ParamSpec("A")
R = TypeVar("R")


def mutation(*, needs: Role, description: str, frees: bool = False) -> Callable[[Callable[A, Awaitable[R]]], Any]:
    """A mutation that refuses everybody whose role does not cover `needs`.

    One that does not free room also refuses those whose storage is full."""

    def declared(resolver: Callable[A, Awaitable[R]]) -> Any:
        @wraps(resolver)
        async def guarded(*args: A.args, **kwargs: A.kwargs) -> R:
            info = kwargs["info"]
            assert isinstance(info, strawberry.Info)
            info.context.require(needs)
            if not frees:
                info.context.require_room()
            info.context.clear_loaders()
            return await resolver(*args, **kwargs)

        return strawberry.mutation(guarded, description=f"{description} Needs the role {needs}.")

    return declared


def given_fields(given: Any, *, clearable: frozenset[str] = frozenset()) -> dict[str, Any]:
    """The fields that the caller named. Null clears a field that may be empty and is refused for the others."""
    named = {field.name: getattr(given, field.name) for field in fields(given)}
    wanted = {name: value for name, value in named.items() if value is not strawberry.UNSET}
    for name, value in wanted.items():
        if value is None and name not in clearable:
            raise BadInput(f"{name} cannot be null; leave it out to keep it", field=name)
    return wanted
