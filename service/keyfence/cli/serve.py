"""`keyfence serve`, `keyfence table`."""

from typing import TYPE_CHECKING, Annotated

import typer

from keyfence.errors import BadInput

if TYPE_CHECKING:
    from keyfence.settings import Settings
    from keyfence.store.dynamodb.table_definition import TableAdmin


APPLICATION = "keyfence.app.production:application"
KEEP_ALIVE_SECONDS = 75
"""Longer than the sixty seconds after which load balancers let go, so that we never close under their request."""

Check = Annotated[bool, typer.Option("--check", help="Only examine the settings.")]


def serve(check: Check = False) -> None:
    """Serve production, with settings from KEYFENCE_* variables and AWS's usual credential and region chain.

    It refuses to start with missing settings or a development key, and names each.

    [bold]Example:[/bold] KEYFENCE_WORKERS=4 keyfence serve

    [bold]Example:[/bold] keyfence serve --check
    """
    settings = _examined()
    if check:
        typer.echo("The settings are complete.")
    else:
        _run(settings)


def _examined() -> "Settings":
    from keyfence.settings import load_and_check

    settings, problems = load_and_check()
    if not _has_region(settings):
        problems.append("KEYFENCE_REGION is missing, and AWS's own configuration names no region either")
    problems = problems or _obstacles(settings)
    if problems:
        raise BadInput("\n".join(("keyfence serve cannot start:", *(f"  {problem}" for problem in problems))))
    return settings


def _has_region(settings: "Settings") -> bool:
    from keyfence.store.dynamodb.client import ambient_region

    return bool(settings.region or ambient_region())


def _obstacles(settings: "Settings") -> list[str]:
    """Only settings that are good in themselves are tried: the rest would be named twice."""
    from keyfence.app.production import startup_problems

    return startup_problems(settings)


def _run(settings: "Settings") -> None:
    """The port is tried first because uvicorn would report it from inside a worker."""
    import uvicorn

    from keyfence.cli.process import listen

    listen(settings.host, settings.port).close()
    uvicorn.run(
        APPLICATION,
        factory=True,
        host=settings.host,
        port=settings.port,
        workers=settings.workers,
        loop="uvloop",
        http="httptools",
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


ADVICE = """--create makes a table that is missing, and gives one that is there time to live, but nothing else:
mend it on AWS, where an index has to be made anew, or name another with KEYFENCE_TABLE."""
Create = Annotated[bool, typer.Option("--create", help="Create it where it is missing, and wait until it can be used.")]


def table(create: Create = False) -> None:
    """Compare the table that KEYFENCE_TABLE names with its definition, on AWS's usual credentials.

    It ends with exit code 1 where they differ, and names each difference.

    [bold]Example:[/bold] keyfence table

    [bold]Example:[/bold] KEYFENCE_REGION=eu-west-1 keyfence table --create
    """
    from keyfence.store.dynamodb.table_definition import TableDiffers, Unreachable

    administration = _administration()
    try:
        if create:
            typer.echo(f"{'Created' if administration.create() else 'Found'} the table {administration.table}.")
        administration.check()
    except TableDiffers as error:
        raise BadInput(f"{error.message}\n{ADVICE}") from error
    except Unreachable as error:
        raise BadInput(str(error)) from error
    typer.echo(f"The table {administration.table} is as defined.")


def _administration() -> "TableAdmin":
    from keyfence.app.domains import load_domains
    from keyfence.settings import BadSettings, load
    from keyfence.store.dynamodb.client import ConnectionOptions
    from keyfence.store.dynamodb.table_definition import TableAdmin, Unreachable

    try:
        settings = load()
        wire = ConnectionOptions(region=settings.region, endpoint_url=settings.endpoint_url)
        return TableAdmin.connect(wire, settings.table, load_domains(settings.domains).entities.projections)
    except (BadSettings, *Unreachable) as error:
        raise BadInput(str(error)) from error
