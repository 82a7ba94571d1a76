"""`mutation`: a field that checks role and storage quota. `given_fields`: the fields of an input that were sent."""

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
    """Makes a mutation that raises Forbidden if the caller's role does not include `needs`.

    It also raises QuotaExceeded if the tenant's storage is full, unless the mutation frees storage."""

    def decorate(resolver: Callable[A, Awaitable[R]]) -> Any:
        @wraps(resolver)
        async def guarded(*args: A.args, **kwargs: A.kwargs) -> R:
            info = kwargs["info"]
            assert isinstance(info, strawberry.Info)
            info.context.require_role(needs)
            if not frees_storage:
                info.context.require_free_storage()
            info.context.clear_loaders()
            return await resolver(*args, **kwargs)

        return strawberry.mutation(guarded, description=f"{description} Needs the role {needs}.")

    return decorate


def given_fields(input: Any, *, clearable: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Returns the fields that the caller sent. Null clears a field in `clearable`, and raises BadInput in any other."""
    values = {field.name: getattr(input, field.name) for field in fields(input)}
    sent = {name: value for name, value in values.items() if value is not strawberry.UNSET}
    for name, value in sent.items():
        if value is None and name not in clearable:
            raise BadInput(f"{name} cannot be null; leave it out to keep its value", field=name)
    return sent
