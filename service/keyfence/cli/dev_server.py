"""The parts of `keyfence dev`: the engine, the gate, the server and the welcome text."""

import asyncio
import json
import shlex
import socket
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import typer
import uvicorn
from starlette.types import ASGIApp

from keyfence.auth.principal import INTROSPECT_SCOPE, Role
from keyfence.cli.interrupts import ignoring_signals
from keyfence.cli.terminal_output import status_line
from keyfence.errors import BadInput
from keyfence.local.data_directory import EXPORTS, cursor_key, data_directory, signing_key
from keyfence.local.demo.tenants import TENANTS, DemoTenant
from keyfence.local.development_issuer import ADMIN_AUDIENCE, AUDIENCE, DevelopmentIssuer, load_development_issuer
from keyfence.local.engines import engine_choice
from keyfence.local.engines.engine import Engine, EngineFailed
from keyfence.local.gate import start_gate
from keyfence.settings import BadSettings, IssuerSettings, Settings, load
from keyfence_iam.deployment import LOCAL_REGION, Deployment
from keyfence_iam.gate.gate import Gate
from keyfence_iam.gate.throughput.partition_limits import PartitionLimits

HOST = "127.0.0.1"
PROJECT = Path(__file__).resolve().parents[3]
SHUTDOWN_SECONDS = 3
TOKEN_SECONDS = 7 * 86400
QUERY = "{ viewer { role user { name } tenant { id name } } users(first: 3) { edges { node { id name email } } } }"


class DevelopmentServer(uvicorn.Server):
    """uvicorn on a socket that is already open. It stops when the engine stops."""

    def __init__(self, application: ASGIApp, engine: Engine, on_ready: Callable[[], None]) -> None:
        super().__init__(
            uvicorn.Config(
                application,
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
        return await super().on_tick(counter) or self.engine.failure() is not None

    async def serve_on(self, listener: socket.socket) -> None:
        """Serves until a signal. Raises EngineFailed if the engine stopped by itself."""
        await self.serve(sockets=[listener])
        if failure := self.engine.failure():
            raise EngineFailed(failure)


@dataclass(frozen=True, slots=True, kw_only=True)
class Welcome:
    """The text that `dev` prints when it is ready: addresses, and commands that work when they are pasted."""

    url: str
    gate: str
    engine: str
    issuer: DevelopmentIssuer
    data: Path
    table: str = "keyfence"
    command: str = field(default_factory=lambda: keyfence_command(PROJECT))

    def __str__(self) -> str:
        requests = (self._curl(name, tenant) for name, tenant in TENANTS.items())
        return "\n".join((self._addresses(), *requests, "", "Press Ctrl-C to stop."))

    def _addresses(self) -> str:
        name, tenant = next(iter(TENANTS.items()))
        return (
            f"\nKeyfence is ready.\n\n"
            f"  Engine    {self.engine}\n"
            f"  GraphiQL  {self.url}/graphql\n"
            f'            Headers: {{"Authorization": "Bearer TOKEN"}}. This prints a TOKEN:\n'
            f"            {self._keyfence('token', name)}\n"
            f"  Gate      {self.gate}\n"
            f"            DynamoDB, STS and IAM, with the policies of each session. Add to ~/.aws/config:\n\n"
            f"[profile {name}]\n"
            f"region = {LOCAL_REGION}\n"
            f"credential_process = {self._keyfence('credentials', name)}\n\n"
            f"            This reads a user of {name}. With a key of another tenant it is denied:\n"
            f"            {self._aws(name, tenant)}"
        )

    def _keyfence(self, command: str, tenant: str) -> str:
        """Returns a command with absolute paths: SDKs run credential_process in any working directory."""
        return f"{self.command} {command} --tenant {tenant} --data {shlex.quote(str(self.data.absolute()))}"

    def _aws(self, name: str, tenant: DemoTenant) -> str:
        """The endpoint is an option: `endpoint_url` in a profile needs aws CLI 2.13, and Debian 12 has 2.9."""
        key = shlex.quote(json.dumps(self.owner_key(name, tenant)))
        return (
            f"aws --profile {name} --endpoint-url {self.gate} dynamodb get-item --table-name {self.table} --key {key}"
        )

    @staticmethod
    def owner_key(name: str, tenant: DemoTenant) -> dict[str, dict[str, str]]:
        return {"PK": {"S": f"TENANT#{name}#USER#{tenant.owner_id}"}, "SK": {"S": "PROFILE"}}

    def _curl(self, name: str, tenant: DemoTenant) -> str:
        token = self.issuer.token(
            tenant=name, user=tenant.owner_id, role=Role.OWNER, ttl=TOKEN_SECONDS, scopes=(INTROSPECT_SCOPE,)
        )
        body = shlex.quote(json.dumps({"query": QUERY}))
        return (
            f"\nAs the owner of {name}:\ncurl -s {self.url}/graphql -H 'Authorization: Bearer {token}'"
            f" -H 'Content-Type: application/json' -d {body}"
        )


def keyfence_command(project: Path) -> str:
    """Returns a command that starts keyfence in any directory: with uv in a checkout, else the installed program."""
    if (project / "pyproject.toml").is_file():
        return f"uv run --project {shlex.quote(str(project.absolute()))} keyfence"
    return shlex.quote(str(Path(sys.argv[0]).absolute()))


def run_dev(
    listener: socket.socket,
    gate: socket.socket,
    name: engine_choice.EngineName,
    data: Path,
    limits: PartitionLimits | None = None,
) -> None:
    """Checks the data directory and the settings before it starts anything that would have to be stopped."""
    directory = data_directory(data)
    issuer = load_development_issuer(directory)
    settings = _settings(issuer, directory, listener.getsockname()[1], _url(gate))
    with status_line() as show_status:
        chosen = engine_choice.start_engine(name, directory, show_status)
    welcome = Welcome(
        url=_url(listener),
        gate=_url(gate),
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
            listener=gate,
            server_url=welcome.url,
            limits=limits,
            saves_policies=chosen.engine.persistent,
        ) as running:
            asyncio.run(_serve(listener, chosen.engine, running, settings, welcome))
    finally:
        with ignoring_signals():
            chosen.engine.stop()


def _url(listener: socket.socket) -> str:
    return f"http://{HOST}:{listener.getsockname()[1]}"


def _settings(issuer: DevelopmentIssuer, directory: Path, port: int, gate: str) -> Settings:
    issuers = (IssuerSettings(issuer=issuer.issuer, jwks=issuer.jwks()),)
    try:
        return load(
            roles=None,
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
            host=HOST,
            port=port,
            introspection=True,
            graphiql=True,
            log_json=False,
        )
    except BadSettings as error:
        raise BadInput(str(error)) from error


async def _serve(listener: socket.socket, engine: Engine, gate: Gate, settings: Settings, welcome: Welcome) -> None:
    with status_line() as show_status:
        show_status("loading the service")
        from keyfence.app.local_development import application, prepare_table
        from keyfence.store.dynamodb.table_definition import TableDiffers

        try:
            await _or_engine_failure(prepare_table(settings, gate.sessions, show_status), engine)
        except TableDiffers as error:
            advice = f"Another version made it: delete {welcome.data} with all its data, or choose another with --data."
            raise BadInput(f"{error.message}\n{advice}") from error
    await DevelopmentServer(application(settings, gate.sessions), engine, lambda: typer.echo(welcome)).serve_on(
        listener
    )


async def _or_engine_failure(work: Awaitable[None], engine: Engine) -> None:
    """Raises EngineFailed if the engine died meanwhile: that is the cause of whatever error `work` raised."""
    try:
        await work
    except Exception as error:
        if failure := engine.failure():
            raise EngineFailed(failure) from error
        raise
