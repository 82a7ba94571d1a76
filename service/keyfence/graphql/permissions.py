"""Mutations, none of which can be declared without saying who may call it."""

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import strawberry

from keyfence.auth.role import Role
from keyfence.errors import Forbidden
from keyfence.graphql.context import Context

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
            info.context.forget()
            return await resolver(*args, **kwargs)

        return strawberry.mutation(guarded, description=f"{description} Needs the role {needs}.")

    return declared


def check_reach(context: Context, role: Role) -> None:
    """An owner is made, changed and removed by owners alone."""
    if role is Role.OWNER and context.principal.role is not Role.OWNER:
        raise Forbidden("only an OWNER may do this to an OWNER")
