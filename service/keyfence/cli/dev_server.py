"""Starts and stops the parts of `keyfence dev`: the engine, the gate and the server."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path

import typer
import uvicorn
from starlette.types import ASGIApp

from keyfence.cli.dev_welcome import WelcomeText
from keyfence.cli.interrupts import ignoring_signals
from keyfence.cli.table_connection import command_settings
from keyfence.cli.terminal_output import status_line
from keyfence.errors import BadInput
from keyfence.local.data_directory import EXPORTS, cursor_key, data_directory, index_key, signing_key
from keyfence.local.development_issuer import ADMIN_AUDIENCE, AUDIENCE, DevelopmentIssuer, load_development_issuer
from keyfence.local.engines.engine import Engine, EngineFailed
from keyfence.local.engines.engine_choice import EngineName, start_engine
from keyfence.local.gate import start_gate
from keyfence.settings import IssuerSettings, Settings
from keyfence.validation import LOCAL_ORIGINS
from keyfence_iam.deployment import LOCAL_REGION, Deployment
from keyfence_iam.gate.gate import Gate
from keyfence_iam.gate.throughput.partition_limits import PartitionLimits
from keyfence_iam.http_connection_limits import BoundedProtocol

HOST = "127.0.0.1"
SHUTDOWN_SECONDS = 3
"""How long requests may still run after Ctrl-C."""


class DevelopmentServer(uvicorn.Server):
    """uvicorn on a socket that is already open. It stops when the engine stops."""

    def __init__(self, application: ASGIApp, engine: Engine, on_ready: Callable[[], None]) -> None:
        super().__init__(
            uvicorn.Config(
                application,
                http=BoundedProtocol,
                ws="none",
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=SHUTDOWN_SECONDS,
            )
        )
        self.engine = engine
        self.on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self.on_ready()

    async def on_tick(self, counter: int) -> bool:
        """Returns whether the server should stop. uvicorn calls this ten times a second."""
        return await super().on_tick(counter) or self.engine.failure() is not None

    async def serve_on(self, listener: socket.socket) -> None:
        """Serves until a signal. Raises EngineFailed if the engine stopped by itself."""
        await self.serve(sockets=[listener])
        if failure := self.engine.failure():
            raise EngineFailed(failure)


def run_dev(
    listener: socket.socket,
    gate_listener: socket.socket,
    engine_name: EngineName,
    data: Path,
    limits: PartitionLimits | None = None,
) -> None:
    """Runs the engine, the gate and the server until a signal.

    The data directory and the settings are checked before anything is started.
    """
    directory = data_directory(data)
    issuer = load_development_issuer(directory)
    settings = _settings(issuer, directory, listener.getsockname()[1], _url(gate_listener))
    with status_line() as show_status:
        chosen = start_engine(engine_name, directory, show_status)
    welcome = WelcomeText(
        server_url=_url(listener),
        gate_url=_url(gate_listener),
        engine=chosen.description,
        issuer=issuer,
        data=directory,
        table=settings.table,
    )
    try:
        with start_gate(
            directory,
            Deployment(table=settings.table),
            engine_url=chosen.engine.url,
            listener=gate_listener,
            server_url=welcome.server_url,
            limits=limits,
            saves_policies=chosen.engine.is_persistent,
        ) as gate:
            asyncio.run(_serve(listener, chosen.engine, gate, settings, welcome))
    finally:
        with ignoring_signals():
            chosen.engine.stop()


def _url(listener: socket.socket) -> str:
    return f"http://{HOST}:{listener.getsockname()[1]}"


def _settings(issuer: DevelopmentIssuer, directory: Path, port: int, gate_url: str) -> Settings:
    """Returns settings for the local gate. Without `role_arn_prefix`, commands use the gate and not AWS."""
    issuers = (IssuerSettings(issuer=issuer.issuer, jwks=issuer.jwks()),)
    return command_settings(
        role_arn_prefix=None,
        region=LOCAL_REGION,
        endpoint_url=gate_url,
        sts_endpoint_url=gate_url,
        iam_endpoint_url=gate_url,
        issuers=issuers,
        admin_issuers=issuers,
        audience=AUDIENCE,
        admin_audience=ADMIN_AUDIENCE,
        cursor_keys=(cursor_key(directory),),
        index_key=index_key(directory),
        exports=directory / EXPORTS,
        signing_key=signing_key(directory),
        host=HOST,
        port=port,
        origins=(LOCAL_ORIGINS,),
        admin_origins=(LOCAL_ORIGINS,),
        tenant_origins=True,
        introspection=True,
        graphiql=True,
        log_json=False,
    )


async def _serve(listener: socket.socket, engine: Engine, gate: Gate, settings: Settings, welcome: WelcomeText) -> None:
    with status_line() as show_status:
        show_status("loading the service")
        from keyfence.app.local_development import application, prepare_table
        from keyfence.store.dynamodb.table_definition import TableDiffers

        try:
            await _raise_engine_failure(prepare_table(settings, gate.session_issuer, show_status), engine)
        except TableDiffers as error:
            advice = (
                f"Another version of Keyfence created the table. Delete {welcome.data} with all its data, or choose"
                " another directory with --data."
            )
            raise BadInput(f"{error.message}\n{advice}") from error
    server = DevelopmentServer(
        application(settings, gate.session_issuer, welcome.issuer), engine, lambda: typer.echo(welcome)
    )
    await server.serve_on(listener)


async def _raise_engine_failure(work: Awaitable[None], engine: Engine) -> None:
    """Awaits `work`. If it fails and the engine has died, raises EngineFailed: the dead engine is the cause."""
    try:
        await work
    except Exception as error:
        if failure := engine.failure():
            raise EngineFailed(failure) from error
        raise
