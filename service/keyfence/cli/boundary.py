"""Where errors that we know become sentences on stderr and exit code 1."""

from typing import Any

import typer
from typer.core import TyperGroup

from keyfence.errors import KeyfenceError


class Boundary(TyperGroup):
    """The group of all commands; an error that we do not know keeps its traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyfenceError as error:
            typer.echo(error.message, err=True)
            raise typer.Exit(1) from None
