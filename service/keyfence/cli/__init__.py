"""The `keyfence` command: its subcommands, and the class that prints their errors."""

import json
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from keyfence.cli.credentials import credentials, jwks, token
from keyfence.cli.dev import dev
from keyfence.cli.gate import gate
from keyfence.cli.gate_traffic import top
from keyfence.cli.hot_partitions import hot
from keyfence.cli.import_export import export, import_
from keyfence.cli.interrupts import Interrupted
from keyfence.cli.jobs import job, move, rekey, reshard
from keyfence.cli.policy import policy
from keyfence.cli.schema import patterns, schema
from keyfence.cli.serve import serve, table
from keyfence.cli.tenant import tenant
from keyfence.errors import KeyfenceError

FAILED, WRONG_USAGE, INTERRUPTED = 1, 2, 130
"""The exit codes, apart from 0. Shells use 130 for a process that Ctrl-C ended."""

PANELS = {
    "Run": (dev, serve, gate, table, top, hot),
    "Tenants": (tenant, token, credentials, jwks),
    "Data": (import_, export, schema, patterns),
    "Policies": (policy,),
    "Jobs": (reshard, move, rekey, job),
}
"""The subcommands, by the panel of `keyfence --help` that lists them."""


def _command_name(command: Any) -> str:
    """Returns the name of a subcommand. `import` is a keyword of Python, so its function is `import_`."""
    return str(command.info.name) if isinstance(command, typer.Typer) else command.__name__.rstrip("_")


class ErrorBoundaryGroup(TyperGroup):
    """Prints a KeyfenceError as a sentence, or as JSON with --json. Other exceptions keep their traceback."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Returns the names in the order of PANELS. typer would list groups of commands last."""
        order = [_command_name(command) for commands in PANELS.values() for command in commands]
        return sorted(super().list_commands(ctx), key=order.index)

    def invoke(self, ctx: Any) -> Any:
        """Runs the subcommand, and prints its error. The subcommand may fail before its options are parsed, so `invoke`
        looks for --json in the arguments."""
        as_json = "--json" in (*ctx._protected_args, *ctx.args)
        try:
            return super().invoke(ctx)
        except KeyfenceError as error:
            _print_error(error.code, error.message, as_json=as_json)
            raise typer.Exit(INTERRUPTED if isinstance(error, Interrupted) else FAILED) from None
        except KeyboardInterrupt:
            _print_error("INTERRUPTED", "Interrupted.", as_json=as_json)
            raise typer.Exit(INTERRUPTED) from None
        except Exception as error:
            # Only an error of wrong usage has the method `format_message`. Its class is private in typer.
            usage_message = getattr(error, "format_message", None)
            if not as_json or usage_message is None:
                raise
            _print_error("USAGE", usage_message(), as_json=True)
            raise typer.Exit(WRONG_USAGE) from None


app = typer.Typer(
    cls=ErrorBoundaryGroup,
    help="Run and operate Keyfence: a multi-tenant GraphQL backend over one DynamoDB table, isolated by IAM.",
    epilog="Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)


def _print_version(is_requested: bool) -> None:
    if is_requested:
        from importlib.metadata import version

        typer.echo(f"keyfence {version('keyfence')}")
        raise typer.Exit


VersionOption = Annotated[
    bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
]


@app.callback()
def _options(version: VersionOption = False) -> None:
    """Declares the options of `keyfence` itself."""


for panel, commands in PANELS.items():
    for command in commands:
        if isinstance(command, typer.Typer):
            app.add_typer(command, rich_help_panel=panel)
        else:
            app.command(_command_name(command), rich_help_panel=panel)(command)


def _print_error(code: str, message: str, *, as_json: bool) -> None:
    typer.echo(json.dumps({"error": {"code": code, "message": message}}) if as_json else message, err=True)
