"""`keyfence serve` and `keyfence table`: the service and its table on AWS."""

from typing import TYPE_CHECKING, Annotated

import typer

from keyfence.cli.table_connection import JsonOption
from keyfence.errors import BadInput

if TYPE_CHECKING:
    from keyfence.settings import Settings
    from keyfence.store.dynamodb.table_definition import TableAdmin


APPLICATION = "keyfence.app.production:application"
KEEP_ALIVE_SECONDS = 75
"""Longer than the 60 seconds after which load balancers close idle connections. If the server closed a connection
first, a request that the load balancer had just sent would be lost."""
NO_REGION = "KEYFENCE_REGION is missing, and the AWS configuration has no region either"
DIFFERENCE_ADVICE = """--create creates a missing table and turns on time to live. It makes no other change.
Correct the table on AWS (delete a wrong index and create it again), or name another table with KEYFENCE_TABLE."""
ACCESS_ADVICE = """The command needs credentials of the role `provisioner`. On a laptop, `keyfence dev` creates the
table, and `keyfence credentials --role provisioner --env` prints the variables that this command needs."""

CheckOption = Annotated[bool, typer.Option("--check", help="Check the settings and exit.")]
CreateOption = Annotated[bool, typer.Option("--create", help="Create a missing table, and wait until it is active.")]


def serve(check: CheckOption = False) -> None:
    """Run the service on AWS, with settings from KEYFENCE_* variables.

    The process needs credentials of the role `service-base`, which are found as in every AWS SDK. If a setting is
    missing or a key is a development key, the command prints each problem and exits with 1.

    [bold]Example:[/bold] KEYFENCE_WORKERS=4 keyfence serve

    [bold]Example:[/bold] keyfence serve --check
    """
    settings = _checked_settings()
    if check:
        typer.echo("The settings are complete.")
    else:
        _run(settings)


def table(create: CreateOption = False, json: JsonOption = False) -> None:
    """Compare the table on AWS with its definition. With --create, create the table if it is missing.

    KEYFENCE_TABLE names the table. The command needs credentials of the role `provisioner`, which are found as in
    every AWS SDK. If the table differs, the command prints each difference and exits with 1.

    On a laptop `keyfence dev` creates the table. To check it there, run this line first:

      eval "$(keyfence credentials --role provisioner --env)"

    [bold]Example:[/bold] keyfence table

    [bold]Example:[/bold] KEYFENCE_REGION=eu-west-1 keyfence table --create
    """
    from keyfence.store.dynamodb.table_definition import AWS_ERRORS, TableDiffers

    admin = _table_admin()
    created = False
    try:
        if create:
            created = admin.create()
            if not json:
                typer.echo(f"{'Created' if created else 'Found'} the table {admin.table}.")
        admin.check()
    except TableDiffers as error:
        raise BadInput(f"{error.message}\n{DIFFERENCE_ADVICE}") from error
    except AWS_ERRORS as error:
        advice = f"\n{ACCESS_ADVICE}" if "AccessDenied" in str(error) else ""
        raise BadInput(f"{error}{advice}") from error
    _print_result(admin.table, created=created, as_json=json)


def _print_result(name: str, *, created: bool, as_json: bool) -> None:
    from keyfence.cli.terminal_output import print_json

    if as_json:
        print_json({"table": name, "created": created, "differences": []})
    else:
        typer.echo(f"The table {name} matches its definition.")


def _checked_settings() -> "Settings":
    from keyfence.settings_checks import load_and_check

    settings, problems = load_and_check()
    if not _has_region(settings):
        problems.append(NO_REGION)
    problems = problems or _startup_problems(settings)  # with wrong settings, each problem would be listed twice
    if problems:
        raise BadInput("\n".join(("keyfence serve cannot start:", *(f"  {problem}" for problem in problems))))
    return settings


def _has_region(settings: "Settings") -> bool:
    from keyfence.store.dynamodb.endpoint import find_default_region

    return bool(settings.region or find_default_region())


def _startup_problems(settings: "Settings") -> list[str]:
    """Returns the problems that appear only when credentials and keys are used."""
    from keyfence.app.production import startup_problems

    return startup_problems(settings)


def _run(settings: "Settings") -> None:
    """Runs uvicorn. The port is tried first, because uvicorn reports a busy port only in a worker's log."""
    import uvicorn

    from keyfence.cli.ports import listen
    from keyfence_iam.http_connection_limits import BoundedProtocol

    listen(settings.host, settings.port, "KEYFENCE_PORT").close()
    uvicorn.run(
        APPLICATION,
        factory=True,
        host=settings.host,
        port=settings.port,
        workers=settings.workers,
        loop="uvloop",
        http=BoundedProtocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=list(settings.trusted_proxies),
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=settings.shutdown_seconds,
    )


def _table_admin() -> "TableAdmin":
    from keyfence.app.domain_loading import load_domains
    from keyfence.settings import BadSettings, load_settings
    from keyfence.store.dynamodb.client import ConnectionOptions
    from keyfence.store.dynamodb.table_definition import AWS_ERRORS, TableAdmin

    try:
        settings = load_settings()
        options = ConnectionOptions(region=settings.region, endpoint_url=settings.endpoint_url)
        if not _has_region(settings):
            raise BadInput(f"{NO_REGION}.\n{ACCESS_ADVICE}")
        return TableAdmin.connect(options, settings.table, load_domains(settings.domains).entities.projections)
    except (BadSettings, *AWS_ERRORS) as error:
        raise BadInput(str(error)) from error
