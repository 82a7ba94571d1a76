"""keyfence migrate: changes of many items while the service runs."""

import typer

from keyfence.cli.migrate_keys import keys, resume
from keyfence.cli.migrate_show import show

migrate = typer.Typer(
    name="migrate",
    help="Migrations: change many items while the service runs, go on with what was interrupted, see how far it is.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

for command in (keys, resume, show):
    migrate.command()(command)
