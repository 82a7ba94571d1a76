"""The application: both endpoints over one table, and what runs beside them."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

from starlette.applications import Starlette

from keyfence import log
from keyfence.admission.admission import Admission
from keyfence.app.attending import attendant
from keyfence.app.connections import (
    local_tables,
    local_vending,
    production_sts,
    production_wire,
    suspension_publisher,
    tables_at,
    vending_from,
)
from keyfence.app.examination import startup_problems
from keyfence.app.migrators import local_migrator
from keyfence.app.operators import operators_endpoint
from keyfence.app.process import tune_process
from keyfence.app.tenants import owned_issuers, tenants_endpoint, turns_of
from keyfence.app.traffic import traffic_of
from keyfence.auth.key_sets import JwksFetcher
from keyfence.hot_partitions.observer import PartitionObserver
from keyfence.http.metrics import Metrics
from keyfence.http.routes import build_app
from keyfence.jobs.migrator import MigratorAccess
from keyfence.jobs.move.differences import DifferenceReporter, ShadowDifferences
from keyfence.settings import BadSettings, Settings, load
from keyfence.store.tables import Tables
from keyfence.tenancy.cache import TenantCache
from keyfence.tenancy.tenant import Tenant
from keyfence.usage.hourly_usage import UsageRepository
from keyfence.usage.ledger import UsageFlusher
from keyfence_iam.gate.account.session import SessionIssuer
from keyfence_iam.sts import SessionCache
from keyfence_iam.sts.refresh import RefreshSchedule, RefreshThread
from keyfence_iam.tenant import TenantId


def production() -> Starlette:
    """What `keyfence serve` serves; no way of starting it gets past the settings' problems."""
    settings = load()
    if problems := settings.problems() or startup_problems(settings):
        raise BadSettings(tuple(problems))
    log.configure(as_json=settings.log_json)
    vending = vending_from(settings, production_sts(settings), RefreshSchedule(session=settings.session_seconds))
    tables = tables_at(settings, production_wire(settings), vending)
    served = application(settings, tables, vending)
    tune_process()
    return served


def local(settings: Settings, sessions: SessionIssuer) -> Starlette:
    """What `keyfence dev` serves."""
    log.configure(as_json=settings.log_json)
    vending = local_vending(settings, sessions)
    return application(settings, local_tables(settings, vending), vending, local_migrator(settings, sessions))


def application(
    settings: Settings,
    tables: Tables,
    vending: SessionCache,
    migrator: MigratorAccess | None = None,
    published: JwksFetcher | None = None,
    turns: Admission | None = None,
) -> Starlette:
    """The tenants' API and the operators' over these tables, with their probes.

    Without a migrator offboarding is begun here and carried through by a command."""
    turns = turns or turns_of(settings, tables)
    ledger = turns.ledger
    metrics = Metrics(tables.meter, vending.counts, ledger.counts, turns.refusals)
    watching = PartitionObserver()
    tables = replace(
        tables,
        on_foreign_item=metrics.foreign_item,
        on_denied=metrics.denied_call,
        accounts=ledger.accounts,
        watcher=watching,
    )
    usage = UsageFlusher(ledger, UsageRepository(tables.control(writes=True)), settings.usage_seconds)
    registry = TenantCache(
        tables.control(writes=False),
        max_age=settings.tenant_cache_seconds,
        max_use=settings.tenant_use_seconds,
        on_shut=vending.forget,
    )
    shadows = DifferenceReporter(registry, ShadowDifferences(tables.control(writes=True)))
    published = published or JwksFetcher()
    owned = owned_issuers(settings, tables, published)

    def differs(tenant: TenantId, operation: str) -> None:
        metrics.difference(tenant, operation)
        shadows(tenant)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        sweep = RefreshThread(vending.refresh_due)
        sweep.start()
        usage.start()
        traffic.start()
        yield
        await traffic.stop()
        await attended.stop()
        await shadows.stop()
        await usage.stop()
        sweep.stop()
        vending.close()
        published.close()
        tables.client.close()
        if migrator:
            migrator.close()

    def told(tenant: Tenant) -> None:
        registry.invalidate_with(tenant)
        owned.invalidate(tenant.issuer)

    counted = migrator and migrator.charged(ledger.accounts)
    compared = replace(tables, on_difference=differs)
    endpoint = tenants_endpoint(settings, compared, metrics, registry, owned, turns)
    attended = attendant(settings, tables, told, counted)
    traffic = traffic_of(settings, tables, watching.window, told, attended)
    admin = operators_endpoint(
        settings, tables, metrics, told, suspension_publisher(settings, vending), counted, attended
    )
    return build_app(
        endpoints={"/graphql": endpoint, "/admin/graphql": admin},
        ready=_readiness(registry),
        metrics=metrics,
        lifespan=lifespan,
    )


def _readiness(registry: TenantCache) -> Callable[[], Awaitable[str | None]]:
    async def ready() -> str | None:
        await registry.reach()
        return None

    return ready
