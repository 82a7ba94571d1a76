"""Checks of mutations: the caller's role, the tenant's storage quota, and nulls in an input."""

from collections.abc import Awaitable, Callable
from dataclasses import fields
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import strawberry

from keyfence.auth.principal import Role
from keyfence.errors import BadInput

A = ParamSpec("A")
R = TypeVar("R")


def mutation(
    *, needs: Role, description: str, frees_storage: bool = False
) -> Callable[[Callable[A, Awaitable[R]]], Any]:
    """Decorates a resolver as a mutation that raises Forbidden if the caller's role is weaker than `needs`.

    The mutation also raises QuotaExceeded if the tenant's storage is full, unless `frees_storage` is true."""

    def decorate(resolver: Callable[A, Awaitable[R]]) -> Any:
        @wraps(resolver)
        async def checked_resolver(*args: A.args, **kwargs: A.kwargs) -> R:
            info = kwargs["info"]
            assert isinstance(info, strawberry.Info)
            info.context.require_role(needs)
            if not frees_storage:
                info.context.require_free_storage()
            info.context.clear_loaders()
            return await resolver(*args, **kwargs)

        return strawberry.mutation(checked_resolver, description=f"{description} Needs the role {needs}.")

    return decorate


def sent_fields(input: Any, *, clearable: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Returns the values of the input fields that the caller sent, by name.

    Null clears a field that is in `clearable`. Raises BadInput if any other field is null."""
    all_values = {field.name: getattr(input, field.name) for field in fields(input)}
    sent_values = {name: value for name, value in all_values.items() if value is not strawberry.UNSET}
    for name, value in sent_values.items():
        if value is None and name not in clearable:
            raise BadInput(f"{name} cannot be null; leave it out to keep its value", field=name)
    return sent_values
