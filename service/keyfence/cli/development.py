"""The run of `keyfence dev`: keys, engine, gate, table, demo data, server, and the end of gate and engine."""

import asyncio
import socket
from collections.abc import Awaitable
from functools import partial
from pathlib import Path

import typer

from keyfence.cli.progress import progress
from keyfence.cli.server import DevelopmentServer
from keyfence.cli.signals import undisturbed
from keyfence.cli.welcome import Welcome
from keyfence.errors import BadInput
from keyfence.local import role_policies
from keyfence.local.cursor_key import cursor_key
from keyfence.local.directory import EXPORTS, data_directory
from keyfence.local.engines import choice
from keyfence.local.engines.engine import Engine, EngineFailed
from keyfence.local.gate_key import gate_key
from keyfence.local.issuer import ADMIN_AUDIENCE, AUDIENCE, LocalIssuer, local_issuer
from keyfence.local.signing_key import signing_key
from keyfence.settings import BadSettings, IssuerSettings, Settings, read
from keyfence_iam.deployment import LOCAL_REGION, Deployment
from keyfence_iam.gate.account import Account
from keyfence_iam.gate.gate import Gate
from keyfence_iam.gate.limits.limits import Limits

HOST = "127.0.0.1"
SETTLE_SECONDS = 6.0
"""The gate shuts a tenant out at once, and a server forgets within five."""


def run(
    listener: socket.socket, gate: socket.socket, name: choice.EngineName, data: Path, limits: Limits | None = None
) -> None:
    """What is cheap and may be refused comes first, so that nothing has to be undone."""
    directory = data_directory(data)
    issuer, key = local_issuer(directory), gate_key(directory)
    settings = _settings(issuer, directory, listener.getsockname()[1], _url(gate))
    with progress() as tell:
        chosen = choice.start(name, directory, tell)
    welcome = Welcome(url=_url(listener), gate=_url(gate), remark=chosen.remark, issuer=issuer, data=directory)
    try:
        with _gate(chosen.engine, settings.table, key, gate, directory, limits) as running:
            asyncio.run(_serve(listener, chosen.engine, running, settings, welcome))
    finally:
        with undisturbed():
            chosen.engine.stop()


def _gate(
    engine: Engine, table: str, key: bytes, listener: socket.socket, directory: Path, limits: Limits | None = None
) -> Gate:
    """Who is suspended is kept as long as the register that says so: over the end where the engine's data is."""
    account = Account.of(Deployment(table=table))
    start = partial(Gate.start, engine_url=engine.url, key=key, listener=listener, limits=limits)
    if not engine.persistent:
        return start(account=account)
    return start(account=role_policies.kept_in(directory, account), keep=partial(role_policies.keep, directory))


def _url(listener: socket.socket) -> str:
    return f"http://{HOST}:{listener.getsockname()[1]}"


def _settings(issuer: LocalIssuer, directory: Path, port: int, gate: str) -> Settings:
    issuers = (IssuerSettings(issuer=issuer.issuer, jwks=issuer.jwks()),)
    try:
        return read(
            region=LOCAL_REGION,
            endpoint_url=gate,
            sts_endpoint_url=gate,
            iam_endpoint_url=gate,
            issuers=issuers,
            admin_issuers=issuers,
            audience=AUDIENCE,
            admin_audience=ADMIN_AUDIENCE,
            cursor_keys=(cursor_key(directory),),
            exports=directory / EXPORTS,
            signing_key=signing_key(directory),
            settle_seconds=SETTLE_SECONDS,
            host=HOST,
            port=port,
            introspection=True,
            graphiql=True,
            log_json=False,
        )
    except BadSettings as error:
        raise BadInput(str(error)) from error


async def _serve(listener: socket.socket, engine: Engine, gate: Gate, settings: Settings, welcome: Welcome) -> None:
    with progress() as tell:
        tell("loading the service")
        from keyfence.app import local, set_up
        from keyfence.store.schema import TableDiffers

        try:
            await _or_engine_failure(set_up(settings, gate.sessions, tell), engine)
        except TableDiffers as error:
            raise BadInput(f"{error.message}\n{_advice(welcome.data)}") from error
    await DevelopmentServer(local(settings, gate.sessions), engine, lambda: typer.echo(welcome)).run_on(listener)


def _advice(data: Path) -> str:
    return f"Another version made it: remove {data}, with all that is kept there, or choose another with --data."


async def _or_engine_failure(work: Awaitable[None], engine: Engine) -> None:
    """An engine that dies on the way is the reason, whatever error its caller saw of it."""
    try:
        await work
    except Exception as error:
        if failure := engine.failure():
            raise EngineFailed(failure) from error
        raise
