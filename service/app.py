"""The composition root: the only place that knows everyone."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial

from starlette.applications import Starlette

from iam.boundary import TenantId
from iam.credentials import Credentials
from service import log
from service.auth.tokens import operator_verifier, tenant_verifier
from service.errors import Unauthenticated
from service.graphql.context import Caller, Context
from service.graphql.execution import GraphQLExecutor
from service.graphql.request import RequestInfo
from service.graphql.schema import schema
from service.http.endpoint import GraphQLEndpoint
from service.http.graphiql import graphiql_page
from service.http.metrics import Metrics
from service.http.routes import routes
from service.local.demo import load_demo
from service.settings import BadSettings, Settings, read
from service.store.calls import CredentialSource
from service.store.client import BotoClient, Wire, ambient_credentials, ambient_region
from service.store.cursor import Sealer
from service.store.schema import Administration, Unreachable
from service.store.tables import Tables
from service.tenancy.registry import Registry

INTROSPECT = "introspect"
LOCAL_CREDENTIALS = Credentials("AKIALOCAL00000000000", "local")
LOCAL_PATIENCE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class OneForAll:
    """The same credentials for every fence."""

    current: CredentialSource

    def tenant(self, tenant: TenantId, *, writes: bool) -> CredentialSource:  # noqa: ARG002
        return self.current

    def control(self, *, writes: bool) -> CredentialSource:  # noqa: ARG002
        return self.current


def production() -> Starlette:
    """What `keyfence serve` serves; no way of starting it gets past the settings' problems."""
    settings = read()
    if problems := settings.problems() or obstacles(settings):
        raise BadSettings(tuple(problems))
    log.configure(as_json=settings.log_json)
    return application(settings, tables(settings, OneForAll(partial(asyncio.to_thread, ambient_credentials()))))


def local(settings: Settings) -> Starlette:
    """What `keyfence dev` serves."""
    log.configure(as_json=settings.log_json)
    return application(settings, local_tables(settings))


async def set_up(settings: Settings, tell: Callable[[str], None]) -> None:
    """The table and the demo tenants on a local engine."""
    tell("creating the table")
    await asyncio.to_thread(Administration.connect(local_wire(settings), settings.table, LOCAL_CREDENTIALS).create)
    handles = local_tables(settings)
    await load_demo(handles, tell)
    handles.client.close()


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
    yield "AWS credentials", ambient_credentials


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


async def _local_credentials() -> Credentials:
    return LOCAL_CREDENTIALS


def local_tables(settings: Settings) -> Tables:
    return _tables(settings, local_wire(settings), OneForAll(_local_credentials))


def tables(settings: Settings, credentials: OneForAll) -> Tables:
    return _tables(settings, _production_wire(settings), credentials)


def _tables(settings: Settings, wire: Wire, credentials: OneForAll) -> Tables:
    return Tables(
        client=BotoClient(wire),
        name=settings.table,
        sealer=Sealer(settings.cursor_secrets),
        credentials=credentials,
    )


def application(settings: Settings, tables: Tables) -> Starlette:
    """The tenants' API over these tables, with its probes."""
    metrics = Metrics(tables.meter)
    registry = Registry(tables.control(writes=False))
    endpoint = GraphQLEndpoint(
        authenticate=_admission(settings, registry),
        executor=GraphQLExecutor(schema),
        context=_contexts(replace(tables, on_foreign=metrics.foreign_item)),
        introspection=lambda caller: settings.introspection or INTROSPECT in caller.principal.scopes,
        page=graphiql_page if settings.graphiql else None,
        metrics=metrics,
    )

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        tables.client.close()

    return routes(endpoints={"/graphql": endpoint}, ready=_readiness(registry), metrics=metrics, lifespan=lifespan)


def _admission(settings: Settings, registry: Registry) -> Callable[[str | None], Awaitable[Caller]]:
    verifier = tenant_verifier(settings)

    async def admit(authorization: str | None) -> Caller:
        principal = await verifier.verify(_bearer(authorization))
        return Caller(principal, await registry.get(principal.tenant))

    return admit


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
