"""The commands of `keyfence`; each imports what it needs when it runs, so that every start is quick."""

import typer

from service.cli.boundary import Boundary
from service.cli.credentials import credentials
from service.cli.dev import dev
from service.cli.exporting import export
from service.cli.gate import gate
from service.cli.hot import hot
from service.cli.importing import import_
from service.cli.migrate import migrate
from service.cli.move import move
from service.cli.patterns import patterns
from service.cli.policy import policy
from service.cli.reshard import reshard
from service.cli.schema import schema
from service.cli.serve import serve
from service.cli.table import table
from service.cli.tenant import tenant
from service.cli.token import token
from service.cli.top import top

app = typer.Typer(
    cls=Boundary,
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
