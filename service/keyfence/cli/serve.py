"""keyfence serve: the service in production."""

from typing import TYPE_CHECKING, Annotated

import typer

from keyfence.errors import BadInput

if TYPE_CHECKING:
    from keyfence.settings import Settings

APPLICATION = "keyfence.app:production"
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
    from keyfence.settings import examine

    settings, problems = examine()
    if not _has_region(settings):
        problems.append("KEYFENCE_REGION is missing, and AWS's own configuration names no region either")
    problems = problems or _obstacles(settings)
    if problems:
        raise BadInput("\n".join(("keyfence serve cannot start:", *(f"  {problem}" for problem in problems))))
    return settings


def _has_region(settings: "Settings") -> bool:
    from keyfence.app import region

    return bool(settings.region or region())


def _obstacles(settings: "Settings") -> list[str]:
    """Only settings that are good in themselves are tried: the rest would be named twice."""
    from keyfence.app import obstacles

    return obstacles(settings)


def _run(settings: "Settings") -> None:
    """The port is tried first because uvicorn would report it from inside a worker."""
    import uvicorn

    from keyfence.cli.listener import listen

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
