"""The commands of `keyfence`; each imports what it needs when it runs, so that every start is quick."""

import typer

from keyfence.cli.boundary import Boundary
from keyfence.cli.credentials import credentials
from keyfence.cli.dev import dev
from keyfence.cli.exporting import export
from keyfence.cli.gate import gate
from keyfence.cli.hot import hot
from keyfence.cli.importing import import_
from keyfence.cli.migrate import migrate
from keyfence.cli.move import move
from keyfence.cli.patterns import patterns
from keyfence.cli.policy import policy
from keyfence.cli.reshard import reshard
from keyfence.cli.schema import schema
from keyfence.cli.serve import serve
from keyfence.cli.table import table
from keyfence.cli.tenant import tenant
from keyfence.cli.token import token
from keyfence.cli.top import top

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
