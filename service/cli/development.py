"""The run of `keyfence dev`: keys, engine, table, demo data, server, and the engine's end."""

import asyncio
import socket
from collections.abc import Awaitable
from pathlib import Path

import typer

from service.cli.progress import progress
from service.cli.server import DevelopmentServer
from service.cli.signals import undisturbed
from service.cli.welcome import Welcome
from service.errors import BadInput
from service.local import choice
from service.local.cursor_key import cursor_key
from service.local.directory import data_directory
from service.local.engine import Engine, EngineFailed
from service.local.issuer import ADMIN_AUDIENCE, AUDIENCE, LocalIssuer, local_issuer
from service.settings import BadSettings, IssuerSettings, Settings, read

HOST = "127.0.0.1"
REGION = "us-east-1"


def run(listener: socket.socket, name: choice.EngineName, data: Path) -> None:
    """What is cheap and may be refused comes first, so that nothing has to be undone."""
    directory = data_directory(data)
    issuer = local_issuer(directory)
    settings = _settings(issuer, cursor_key(directory), listener.getsockname()[1])
    with progress() as tell:
        chosen = choice.start(name, directory, tell)
    welcome = Welcome(url=f"http://{HOST}:{settings.port}", remark=chosen.remark, issuer=issuer, data=directory)
    try:
        ready = settings.model_copy(update={"endpoint_url": chosen.engine.url})
        asyncio.run(_serve(listener, chosen.engine, ready, welcome))
    finally:
        with undisturbed():
            chosen.engine.stop()


def _settings(issuer: LocalIssuer, sealing: str, port: int) -> Settings:
    issuers = (IssuerSettings(issuer=issuer.issuer, jwks=issuer.jwks()),)
    try:
        return read(
            region=REGION,
            issuers=issuers,
            admin_issuers=issuers,
            audience=AUDIENCE,
            admin_audience=ADMIN_AUDIENCE,
            cursor_keys=(sealing,),
            host=HOST,
            port=port,
            introspection=True,
            graphiql=True,
            log_json=False,
        )
    except BadSettings as error:
        raise BadInput(str(error)) from error


async def _serve(listener: socket.socket, engine: Engine, settings: Settings, welcome: Welcome) -> None:
    with progress() as tell:
        tell("loading the service")
        from service.app import local, set_up

        await _or_engine_failure(set_up(settings, tell), engine)
    await DevelopmentServer(local(settings), engine, lambda: typer.echo(welcome)).run_on(listener)


async def _or_engine_failure(work: Awaitable[None], engine: Engine) -> None:
    """An engine that dies on the way is the reason, whatever error its caller saw of it."""
    try:
        await work
    except Exception as error:
        if failure := engine.failure():
            raise EngineFailed(failure) from error
        raise
