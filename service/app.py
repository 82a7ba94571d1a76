"""The composition root: the only place that knows everyone."""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace

from starlette.applications import Starlette

from iam.boundary import TenantId
from iam.gate.sessions import Sessions
from iam.policies.names import PROVISIONER, SERVICE_BASE
from iam.vending import Vending
from iam.vending.budget import Budget
from iam.vending.pace import Pace
from iam.vending.sts import Sts, ambient
from iam.vending.sweep import Sweep
from service import log
from service.auth.tokens import operator_verifier, tenant_verifier
from service.domains.sessions.repository import Sessions as RevokedSessions
from service.domains.sessions.standing import Standing
from service.errors import Unauthenticated
from service.graphql.context import Caller, Context
from service.graphql.execution import GraphQLExecutor
from service.graphql.request import RequestInfo
from service.graphql.schema import schema
from service.http.endpoint import GraphQLEndpoint
from service.http.graphiql import graphiql_page
from service.http.metrics import Metrics
from service.http.routes import routes
from service.local.compute import running_as
from service.local.demo import load_demo
from service.settings import BadSettings, Settings, read
from service.store.client import BotoClient, Wire, ambient_region
from service.store.cursor import Sealer
from service.store.schema import Administration, Unreachable
from service.store.tables import Tables
from service.store.vended import Vended
from service.tenancy.registry import Registry

INTROSPECT = "introspect"
LOCAL_PATIENCE_SECONDS = 60.0


def production() -> Starlette:
    """What `keyfence serve` serves; no way of starting it gets past the settings' problems."""
    settings = read()
    if problems := settings.problems() or obstacles(settings):
        raise BadSettings(tuple(problems))
    log.configure(as_json=settings.log_json)
    vending = _vending(settings, _production_sts(settings), Pace(session=settings.session_seconds))
    return application(settings, _tables(settings, _production_wire(settings), vending), vending)


def local(settings: Settings, sessions: Sessions) -> Starlette:
    """What `keyfence dev` serves."""
    log.configure(as_json=settings.log_json)
    vending = local_vending(settings, sessions)
    return application(settings, local_tables(settings, vending), vending)


async def set_up(settings: Settings, sessions: Sessions, tell: Callable[[str], None]) -> None:
    """The table and the demo tenants on a local engine, through its gate."""
    tell("creating the table")
    await asyncio.to_thread(provision, settings, sessions)
    vending = local_vending(settings, sessions)
    handles = local_tables(settings, vending)
    await load_demo(handles, tell)
    handles.client.close()
    vending.close()


@contextmanager
def handles(settings: Settings, sessions: Sessions | None) -> Iterator[Tables]:
    """The table for a command: at the local gate whose sessions these are, or on AWS."""
    log.configure(as_json=False, file=sys.stderr)
    pace = Pace(session=settings.session_seconds)
    vending = local_vending(settings, sessions) if sessions else _vending(settings, _production_sts(settings), pace)
    tables = _tables(settings, local_wire(settings) if sessions else _production_wire(settings), vending)
    try:
        yield tables
    finally:
        tables.client.close()
        vending.close()


def provision(settings: Settings, sessions: Sessions) -> None:
    """Create the table as the one role that may, or find it as it would be created."""
    credentials = sessions.mint(PROVISIONER).credentials
    administration = Administration.connect(local_wire(settings), settings.table, credentials)
    administration.create()
    administration.check()


def region() -> str | None:
    return ambient_region()


def obstacles(settings: Settings) -> list[str]:
    """What would keep these settings from serving, found by trying: each in a line."""
    found = []
    for name, attempt in _attempts(settings):
        try:
            attempt()
        except (ValueError, *Unreachable) as error:
            found.append(f"{name}: {error}")
    return found


def _attempts(settings: Settings) -> Iterator[tuple[str, Callable[[], object]]]:
    yield "KEYFENCE_ISSUERS", lambda: tenant_verifier(settings)
    yield "KEYFENCE_ADMIN_ISSUERS", lambda: operator_verifier(settings)
    yield "DynamoDB's endpoint", lambda: BotoClient(_production_wire(settings)).close()
    yield "AWS credentials", lambda: _production_sts(settings)


def _production_wire(settings: Settings) -> Wire:
    return Wire(
        region=settings.region or ambient_region(),
        endpoint_url=settings.endpoint_url,
        connections=settings.data_threads,
        connect_timeout=settings.connect_timeout,
        read_timeout=settings.read_timeout,
    )


def local_wire(settings: Settings) -> Wire:
    return Wire(
        region=settings.region,
        endpoint_url=settings.endpoint_url,
        connections=settings.data_threads,
        read_timeout=LOCAL_PATIENCE_SECONDS,
    )


def local_tables(settings: Settings, vending: Vending) -> Tables:
    return _tables(settings, local_wire(settings), vending)


def _tables(settings: Settings, wire: Wire, vending: Vending) -> Tables:
    return Tables(
        client=BotoClient(wire),
        name=settings.table,
        sealer=Sealer(settings.cursor_secrets),
        credentials=Vended(vending),
    )


def local_vending(settings: Settings, sessions: Sessions) -> Vending:
    """From the gate's STS, as the service's own role."""
    sts = Sts.connect(
        running_as(SERVICE_BASE, sessions),
        sessions.account.deployment.role_arn(""),
        region=settings.region,
        endpoint_url=settings.sts_endpoint_url,
        read_timeout=LOCAL_PATIENCE_SECONDS,
    )
    return _vending(settings, sts, Pace(session=settings.session_seconds, patience=LOCAL_PATIENCE_SECONDS))


def _production_sts(settings: Settings) -> Sts:
    return Sts.connect(
        ambient(),
        settings.roles or "",
        region=settings.region or ambient_region(),
        endpoint_url=settings.sts_endpoint_url,
    )


def _vending(settings: Settings, sts: Sts, pace: Pace) -> Vending:
    return Vending(sts, pace=pace, budget=Budget(settings.sts_calls_per_second), sessions=settings.sessions)


def application(settings: Settings, tables: Tables, vending: Vending) -> Starlette:
    """The tenants' API over these tables, with its probes."""
    metrics = Metrics(tables.meter, vending.counts)
    tables = replace(tables, on_foreign=metrics.foreign_item, on_denied=metrics.denied_call)
    registry = Registry(tables.control(writes=False))
    endpoint = GraphQLEndpoint(
        authenticate=_admission(settings, registry),
        executor=GraphQLExecutor(schema),
        context=_contexts(tables),
        confirm=_standing(settings, tables),
        introspection=lambda caller: settings.introspection or INTROSPECT in caller.principal.scopes,
        page=graphiql_page if settings.graphiql else None,
        metrics=metrics,
    )

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        sweep = Sweep(vending.renew_due)
        sweep.start()
        yield
        sweep.stop()
        vending.close()
        tables.client.close()

    return routes(endpoints={"/graphql": endpoint}, ready=_readiness(registry), metrics=metrics, lifespan=lifespan)


def _admission(settings: Settings, registry: Registry) -> Callable[[str | None], Awaitable[Caller]]:
    verifier = tenant_verifier(settings)

    async def admit(authorization: str | None) -> Caller:
        principal = await verifier.verify(_bearer(authorization))
        return Caller(principal, await registry.get(principal.tenant))

    return admit


def _standing(settings: Settings, tables: Tables) -> Callable[[Caller], Awaitable[None]]:
    """Read with what a query may do, and consistently, so that it holds from the next request on."""

    def sessions(tenant: TenantId) -> RevokedSessions:
        return RevokedSessions(replace(tables.tenant(tenant, writes=False), consistent=True))

    standing = Standing(sessions, settings.revocation_seconds)
    return lambda caller: standing.check(caller.tenant.id, caller.principal.token_id)


def _contexts(tables: Tables) -> Callable[[Caller, RequestInfo], Context]:
    def context(caller: Caller, request: RequestInfo) -> Context:
        return Context(caller, tables.tenant(caller.tenant.id, writes=request.mutates))

    return context


def _readiness(registry: Registry) -> Callable[[], Awaitable[str | None]]:
    async def ready() -> str | None:
        await registry.reach()
        return None

    return ready


def _bearer(authorization: str | None) -> str:
    scheme, _, token = (authorization or "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise Unauthenticated("send a token: Authorization: Bearer <JWT>")
    return token.strip()
