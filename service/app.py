"""The composition root: the only place that knows everyone."""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from functools import partial

from starlette.applications import Starlette

from iam.boundary import TenantId
from iam.credentials import Credentials
from iam.deployment import Deployment
from iam.gate.sessions import Sessions
from iam.policies.names import MIGRATOR, PROVISIONER, SERVICE_BASE
from iam.vending import Vending
from iam.vending.budget import Budget
from iam.vending.pace import Pace
from iam.vending.refusal import NoSession
from iam.vending.sts import Sts, ambient
from iam.vending.sweep import Sweep
from iam.vending.wanted import of_warden
from iam.warden import NotShut, Warden
from service import log
from service.admin.context import Context as AdminContext
from service.admin.schema import schema as admin_schema
from service.auth.owned_issuers import OwnedIssuers
from service.auth.principal import Operator
from service.auth.published_keys import PublishedKeys
from service.auth.tokens import operator_verifier, tenant_verifier
from service.domains.activity.repository import journal
from service.domains.sessions.repository import Sessions as RevokedSessions
from service.domains.sessions.standing import Standing as SessionStanding
from service.domains.users.repository import Users
from service.errors import Unauthenticated
from service.graphql.context import Caller, Context
from service.graphql.execution import GraphQLExecutor
from service.graphql.request import RequestInfo
from service.graphql.schema import schema
from service.graphql.turns import cost_of, turn_of
from service.http.endpoint import GraphQLEndpoint
from service.http.graphiql import graphiql_page
from service.http.metrics import Metrics
from service.http.routes import routes
from service.local.compute import running_as
from service.local.demo import load_demo
from service.operations.migrator import Migrator
from service.operations.offboarding.attended import Attended
from service.operations.offboarding.beginning import Beginning, Offboard
from service.operations.offboarding.signer import signer
from service.operations.onboarding import Onboarding
from service.settings import BadSettings, Settings, read
from service.store.client import BotoClient, Wire, ambient_region
from service.store.cursor import Sealer
from service.store.own import Own, Running
from service.store.schema import Administration, Unreachable
from service.store.tables import Tables
from service.store.vended import Vended, VendedToMigrator
from service.tenancy.identities import Identities, Rotation
from service.tenancy.model import Tenant
from service.tenancy.register import Register
from service.tenancy.registry import Registry
from service.tenancy.standing import Standing
from service.tenancy.suspensions import Shut, Suspensions
from service.usage.allowances import Allowances
from service.usage.flushing import Flushing
from service.usage.ledger import Ledger
from service.usage.prices import LISTED, Prices
from service.usage.repository import Usages
from service.usage.turn import Turns

INTROSPECT = "introspect"
ONBOARDER = "keyfence"
"""In whose name a tenant's first user is made."""
LOCAL_PATIENCE_SECONDS = 60.0


def production() -> Starlette:
    """What `keyfence serve` serves; no way of starting it gets past the settings' problems."""
    settings = read()
    if problems := settings.problems() or obstacles(settings):
        raise BadSettings(tuple(problems))
    log.configure(as_json=settings.log_json)
    vending = _vending(settings, _production_sts(settings), Pace(session=settings.session_seconds))
    tables = _tables(settings, _production_wire(settings), vending)
    return application(settings, tables, vending)


def local(settings: Settings, sessions: Sessions) -> Starlette:
    """What `keyfence dev` serves."""
    log.configure(as_json=settings.log_json)
    vending = local_vending(settings, sessions)
    return application(settings, local_tables(settings, vending), vending, _local_migrator(settings, sessions))


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
    with _commanded(settings, sessions) as (tables, _):
        yield tables


@contextmanager
def desk(settings: Settings, sessions: Sessions | None, by: str, *, writes: bool) -> Iterator[AdminContext]:
    """What an operator's request holds, for one who sits at a command: no token, and no server that could be told."""
    with _commanded(settings, sessions) as (tables, vending):
        operator = Operator(subject=by, token_id="", expires_at=0)
        shut = warden(settings, vending)
        yield _admin_context(settings, operator, tables, lambda _: None, shut, None, writes=writes)


@contextmanager
def _commanded(settings: Settings, sessions: Sessions | None) -> Iterator[tuple[Tables, Vending]]:
    log.configure(as_json=False, file=sys.stderr)
    pace = Pace(session=settings.session_seconds)
    vending = local_vending(settings, sessions) if sessions else _vending(settings, _production_sts(settings), pace)
    tables = _tables(settings, local_wire(settings) if sessions else _production_wire(settings), vending)
    try:
        yield tables, vending
    finally:
        tables.client.close()
        vending.close()


@contextmanager
def migrating(settings: Settings, sessions: Sessions | None) -> Iterator[Migrator]:
    """For a command that runs as the migrator: at the local gate whose sessions these are, or on AWS."""
    log.configure(as_json=False, file=sys.stderr)
    migrator = _local_migrator(settings, sessions) if sessions else _production_migrator(settings)
    try:
        yield migrator
    finally:
        migrator.close()


def _local_migrator(settings: Settings, sessions: Sessions) -> Migrator:
    vending = local_vending(settings, sessions, MIGRATOR)
    return _migrator(settings, local_wire(settings), vending, running_as(MIGRATOR, sessions))


def _production_migrator(settings: Settings) -> Migrator:
    """A page of a scan takes longer than what requests wait for."""
    vending = _vending(settings, _production_sts(settings), Pace(session=settings.session_seconds))
    wire = replace(_production_wire(settings), read_timeout=max(settings.read_timeout, LOCAL_PATIENCE_SECONDS))
    return _migrator(settings, wire, vending, ambient())


def _migrator(settings: Settings, wire: Wire, vending: Vending, running: Running) -> Migrator:
    tables = replace(_tables(settings, wire, vending), credentials=VendedToMigrator(vending))
    return Migrator(tables=tables, own=Own(running), shut=warden(settings, vending), vending=vending)


def provision(settings: Settings, sessions: Sessions) -> None:
    """Create the table as the one role that may."""
    credentials = sessions.mint(PROVISIONER).credentials
    Administration.connect(local_wire(settings), settings.table, credentials).create()


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


def local_vending(settings: Settings, sessions: Sessions, role: str = SERVICE_BASE) -> Vending:
    """From the gate's STS, as the service's own role or as another's."""
    sts = Sts.connect(
        running_as(role, sessions),
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


def warden(settings: Settings, vending: Vending) -> Shut:
    """IAM itself, or the gate, which speaks it too."""
    if settings.roles is None:
        endpoint = settings.iam_endpoint_url or settings.endpoint_url
        return _shut(vending, Deployment().role_prefix, region=settings.region, endpoint_url=endpoint)
    prefix, region = settings.roles.rpartition("/")[2], settings.region or ambient_region()
    return _shut(vending, prefix, region=region, endpoint_url=settings.iam_endpoint_url)


def _shut(vending: Vending, prefix: str, *, region: str | None, endpoint_url: str | None) -> Shut:
    def guard(credentials: Credentials, tenants: Sequence[TenantId]) -> None:
        Warden.connect(credentials, prefix, region=region, endpoint_url=endpoint_url).shut(tenants)

    async def shut(tenants: Sequence[TenantId]) -> None:
        try:
            credentials = await vending.credentials(of_warden())
        except NoSession as error:
            raise NotShut(f"there is no session of the warden: {error}") from error
        await asyncio.to_thread(guard, credentials, tenants)

    return shut


def application(
    settings: Settings,
    tables: Tables,
    vending: Vending,
    migrator: Migrator | None = None,
    published: PublishedKeys | None = None,
    turns: Turns | None = None,
) -> Starlette:
    """The tenants' API and the operators' over these tables, with their probes.

    Without a migrator offboarding is begun here and carried through by a command."""
    turns = turns or _turns(settings, tables)
    ledger = turns.ledger
    metrics = Metrics(tables.meter, vending.counts, ledger.counts, turns.refusals)
    tables = replace(tables, on_foreign=metrics.foreign_item, on_denied=metrics.denied_call, accounts=ledger.accounts)
    usage = Flushing(ledger, Usages(tables.control(writes=True)), settings.usage_seconds)
    registry = Registry(tables.control(writes=False), max_age=settings.registry_seconds, on_shut=vending.forget)
    published = published or PublishedKeys()
    owned = _owned_issuers(settings, tables, published)
    endpoint = GraphQLEndpoint(
        authenticate=_admission(settings, registry, owned, turns),
        turn=turn_of,
        executor=GraphQLExecutor(schema),
        context=_contexts(tables),
        confirm=_sessions(settings, tables),
        cost=partial(cost_of, _prices(settings)),
        introspection=lambda caller: settings.introspection or INTROSPECT in caller.principal.scopes,
        page=graphiql_page if settings.graphiql else None,
        metrics=metrics,
    )

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        sweep = Sweep(vending.renew_due)
        sweep.start()
        usage.start()
        yield
        await usage.stop()
        sweep.stop()
        vending.close()
        published.close()
        tables.client.close()
        if migrator:
            migrator.close()

    def told(tenant: Tenant) -> None:
        registry.learn(tenant)
        owned.doubt(tenant.issuer)

    counted = migrator and migrator.charged(ledger.accounts)
    admin = _operators(settings, tables, metrics, told, warden(settings, vending), counted)
    return routes(
        endpoints={"/graphql": endpoint, "/admin/graphql": admin},
        ready=_readiness(registry),
        metrics=metrics,
        lifespan=lifespan,
    )


def _owned_issuers(settings: Settings, tables: Tables, published: PublishedKeys) -> OwnedIssuers:
    return OwnedIssuers(
        Identities(tables.control(writes=False)).find,
        published.at,
        Budget(settings.issuer_lookups_per_second),
        max_age=settings.registry_seconds,
    )


def _admission(
    settings: Settings, registry: Registry, owned: OwnedIssuers, turns: Turns
) -> Callable[[str | None], Awaitable[Caller]]:
    verifier = tenant_verifier(settings, owned=owned)

    async def admit(authorization: str | None) -> Caller:
        principal = await verifier.verify(_bearer(authorization))
        tenant = await registry.served(principal.tenant)
        return Caller(principal, tenant, turns.begin(tenant))

    return admit


def _sessions(settings: Settings, tables: Tables) -> Callable[[Caller], Awaitable[None]]:
    """Read with what a query may do, and consistently, so that it holds from the next request on."""

    def sessions(caller: Caller) -> RevokedSessions:
        table = tables.tenant(caller.tenant.id, writes=False, meter=caller.turn, lane=caller.turn.lane)
        return RevokedSessions(replace(table, consistent=True))

    standing = SessionStanding(settings.revocation_seconds)
    return lambda caller: standing.check(caller.tenant.id, caller.principal.token_id, partial(sessions, caller))


def _contexts(tables: Tables) -> Callable[[Caller, RequestInfo], Context]:
    def context(caller: Caller, request: RequestInfo) -> Context:
        writes, turn = request.mutates, caller.turn
        return Context(caller, tables.tenant(caller.tenant.id, writes=writes, meter=turn, lane=turn.lane))

    return context


def _turns(settings: Settings, tables: Tables) -> Turns:
    """One tenant takes at most half of the threads."""
    allowances = Allowances(servers=settings.fleet, width=max(1, settings.data_threads // 2))
    return Turns(allowances=allowances, ledger=Ledger(), total=tables.meter)


def _prices(settings: Settings) -> Prices:
    return Prices(**settings.prices.model_dump()) if settings.prices else LISTED


def _operators(
    settings: Settings,
    tables: Tables,
    metrics: Metrics,
    told: Callable[[Tenant], None],
    shut: Shut,
    migrator: Migrator | None,
) -> GraphQLEndpoint[Operator, AdminContext]:
    verifier = operator_verifier(settings)

    async def admit(authorization: str | None) -> Operator:
        return await verifier.verify(_bearer(authorization))

    return GraphQLEndpoint(
        authenticate=admit,
        executor=GraphQLExecutor(admin_schema),
        context=lambda operator, request: _admin_context(
            settings, operator, tables, told, shut, migrator, writes=request.mutates
        ),
        introspection=lambda operator: settings.introspection or INTROSPECT in operator.scopes,
        page=graphiql_page if settings.graphiql else None,
        metrics=metrics,
    )


def _admin_context(
    settings: Settings,
    operator: Operator,
    tables: Tables,
    told: Callable[[Tenant], None],
    shut: Shut,
    migrator: Migrator | None,
    *,
    writes: bool,
) -> AdminContext:
    control = tables.control(writes=writes)
    register, suspensions = Register(control, operator.subject), Suspensions(control, shut)
    return AdminContext(
        operator=operator,
        register=register,
        standing=Standing(register, suspensions, told),
        onboarding=onboarding(settings, register, tables),
        rotation=Rotation(register, told),
        offboarding=_offboarding(settings, Beginning(register, suspensions, told), migrator),
        usages=Usages(control),
        prices=_prices(settings),
        told=told,
    )


def _offboarding(settings: Settings, begin: Beginning, migrator: Migrator | None) -> Offboard:
    if migrator is None or settings.exports is None or settings.signing_key is None:
        return begin
    signing = signer(settings.signing_key.get_secret_value())
    settle, rate = settings.settle_seconds, settings.migration_units_per_second
    by = begin.register.by
    return Attended(begin, migrator.means(by=by, exports=settings.exports, signer=signing, settle=settle, rate=rate))


def onboarding(settings: Settings, register: Register, tables: Tables) -> Onboarding:
    """The owner is written with the tenant's own credentials, as everything of a tenant is."""

    def users_of(tenant: Tenant) -> Users:
        return Users(replace(tables.tenant(tenant.id, writes=True), journal=journal(ONBOARDER)))

    named = (*settings.issuers, *settings.admin_issuers)
    return Onboarding(register, users_of, frozenset(one.issuer for one in named))


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
