"""The Typer app and its error boundary."""

from typing import Any

import typer
from typer.core import TyperGroup

from keyfence.cli.credentials import credentials, token
from keyfence.cli.dev import dev
from keyfence.cli.gate import gate
from keyfence.cli.hot import hot
from keyfence.cli.import_export import export, import_
from keyfence.cli.jobs import migrate, move, reshard
from keyfence.cli.policy import policy
from keyfence.cli.schema import patterns, schema
from keyfence.cli.serve import serve, table
from keyfence.cli.tenant import tenant
from keyfence.cli.top import top
from keyfence.errors import KeyfenceError


class ErrorBoundaryGroup(TyperGroup):
    """The group of all commands; an error that we do not know keeps its traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyfenceError as error:
            typer.echo(error.message, err=True)
            raise typer.Exit(1) from None


app = typer.Typer(
    cls=ErrorBoundaryGroup,
    help="A multi-tenant GraphQL backend over one DynamoDB table, fenced by keys and by IAM.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
)

for command in (dev, serve, gate, top, hot, table, token, credentials, export, schema, patterns, reshard, move):
    app.command()(command)

app.command("import")(import_)

app.add_typer(policy)
app.add_typer(tenant)
app.add_typer(migrate)
