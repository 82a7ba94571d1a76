"""What `dev` runs: engine, gate, server, welcome text."""

import asyncio
import json
import shlex
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import typer
import uvicorn
from starlette.types import ASGIApp

from keyfence.auth.principal import INTROSPECT, Role
from keyfence.cli.output import status_line
from keyfence.cli.process import ignoring_signals
from keyfence.errors import BadInput
from keyfence.local import role_policies
from keyfence.local.data_directory import EXPORTS, cursor_key, data_directory, gate_key, signing_key
from keyfence.local.demo.tenants import TENANTS, DemoTenant
from keyfence.local.engines import choice
from keyfence.local.engines.engine import Engine, EngineFailed
from keyfence.local.issuer import ADMIN_AUDIENCE, AUDIENCE, LocalIssuer, local_issuer
from keyfence.settings import BadSettings, IssuerSettings, Settings, load
from keyfence_iam.deployment import LOCAL_REGION, Deployment
from keyfence_iam.gate.account.account import Account
from keyfence_iam.gate.gate import Gate
from keyfence_iam.gate.throughput.partition_limits import PartitionLimits

SHUTDOWN_SECONDS = 3


class DevelopmentServer(uvicorn.Server):
    """uvicorn on a socket that is already open."""

    def __init__(self, application: ASGIApp, engine: Engine, ready: Callable[[], None]) -> None:
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
        self.ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self.ready()

    async def on_tick(self, counter: int) -> bool:
        return await super().on_tick(counter) or self.engine.failure() is not None

    async def run_on(self, listener: socket.socket) -> None:
        await self.serve(sockets=[listener])
        if failure := self.engine.failure():
            raise EngineFailed(failure)


PROJECT = Path(__file__).resolve().parents[3]
TOKEN_SECONDS = 7 * 86400
QUERY = "{ viewer { role user { name } tenant { id name } } users(first: 3) { edges { node { id name email } } } }"


@dataclass(frozen=True, slots=True, kw_only=True)
class Welcome:
    """Where things are, and a request of each demo tenant that works when pasted."""

    url: str
    gate: str
    remark: str
    issuer: LocalIssuer
    data: Path
    project: Path = PROJECT

    def __str__(self) -> str:
        return "\n".join(
            (self._places(), *(self._request(name, tenant) for name, tenant in TENANTS.items()), "", "Ctrl-C ends it.")
        )

    def _places(self) -> str:
        return (
            f"\nKeyfence is ready.\n\n"
            f"  Engine    {self.remark}\n"
            f"  Gate      {self.gate}\n"
            f"            DynamoDB and STS as IAM lets each session use them. To be a tenant there, in ~/.aws/config:\n"
            f"            credential_process = {self._command('credentials')}\n"
            f"  GraphiQL  {self.url}/graphql\n"
            f'            Headers: {{"Authorization": "Bearer TOKEN"}}, where TOKEN comes from\n'
            f"            {self._command('token')}"
        )

    def _command(self, name: str) -> str:
        """Good in any working directory: SDKs run what credential_process says from wherever they are."""
        project, data = (shlex.quote(str(path.absolute())) for path in (self.project, self.data))
        return f"uv run --project {project} keyfence {name} --tenant {next(iter(TENANTS))} --data {data}"

    def _request(self, name: str, tenant: DemoTenant) -> str:
        token = self.issuer.token(
            tenant=name, user=tenant.owner, role=Role.OWNER, ttl=TOKEN_SECONDS, scopes=(INTROSPECT,)
        )
        body = shlex.quote(json.dumps({"query": QUERY}))
        return (
            f"\nAs the owner of {name}:\ncurl -s {self.url}/graphql -H 'Authorization: Bearer {token}'"
            f" -H 'Content-Type: application/json' -d {body}"
        )


HOST = "127.0.0.1"


def run_dev(
    listener: socket.socket,
    gate: socket.socket,
    name: choice.EngineName,
    data: Path,
    limits: PartitionLimits | None = None,
) -> None:
    """What is cheap and may be refused comes first, so that nothing has to be undone."""
    directory = data_directory(data)
    issuer, key = local_issuer(directory), gate_key(directory)
    settings = _settings(issuer, directory, listener.getsockname()[1], _url(gate))
    with status_line() as tell:
        chosen = choice.start_engine(name, directory, tell)
    welcome = Welcome(url=_url(listener), gate=_url(gate), remark=chosen.remark, issuer=issuer, data=directory)
    try:
        with _gate(chosen.engine, settings.table, key, gate, directory, limits) as running:
            asyncio.run(_serve(listener, chosen.engine, running, settings, welcome))
    finally:
        with ignoring_signals():
            chosen.engine.stop()


def _gate(
    engine: Engine,
    table: str,
    key: bytes,
    listener: socket.socket,
    directory: Path,
    limits: PartitionLimits | None = None,
) -> Gate:
    """Who is suspended is kept as long as the register that says so: over the end where the engine's data is."""
    account = Account.of(Deployment(table=table))
    start = partial(Gate.start, engine_url=engine.url, key=key, listener=listener, limits=limits)
    if not engine.persistent:
        return start(account=account)
    return start(account=role_policies.load(directory, account), keep=partial(role_policies.save, directory))


def _url(listener: socket.socket) -> str:
    return f"http://{HOST}:{listener.getsockname()[1]}"


def _settings(issuer: LocalIssuer, directory: Path, port: int, gate: str) -> Settings:
    issuers = (IssuerSettings(issuer=issuer.issuer, jwks=issuer.jwks()),)
    try:
        return load(
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
    with status_line() as tell:
        tell("loading the service")
        from keyfence.app.local import application, prepare_table
        from keyfence.store.dynamodb.table_definition import TableDiffers

        try:
            await _or_engine_failure(prepare_table(settings, gate.sessions, tell), engine)
        except TableDiffers as error:
            raise BadInput(f"{error.message}\n{_advice(welcome.data)}") from error
    await DevelopmentServer(application(settings, gate.sessions), engine, lambda: typer.echo(welcome)).run_on(listener)


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
