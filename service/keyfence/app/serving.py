"""The application: both endpoints over one table, and what runs beside them."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

from starlette.applications import Starlette

from keyfence import log
from keyfence.admission.admission import Turns
from keyfence.app.attending import attendant
from keyfence.app.connections import (
    local_tables,
    local_vending,
    production_sts,
    production_wire,
    tables_at,
    vending_from,
    warden,
)
from keyfence.app.examination import obstacles
from keyfence.app.migrators import local_migrator
from keyfence.app.operators import operators_endpoint
from keyfence.app.process import settle_down
from keyfence.app.tenants import owned_issuers, tenants_endpoint, turns_of
from keyfence.app.traffic import traffic_of
from keyfence.auth.key_sets import PublishedKeys
from keyfence.hot_partitions.observer import Traffic
from keyfence.http.metrics import Metrics
from keyfence.http.routes import routes
from keyfence.jobs.migrator import Migrator
from keyfence.jobs.move.differences import Differences, Shadows
from keyfence.settings import BadSettings, Settings, read
from keyfence.store.tables import Tables
from keyfence.tenancy.cache import Registry
from keyfence.tenancy.tenant import Tenant
from keyfence.usage.hourly_usage import Usages
from keyfence.usage.ledger import Flushing
from keyfence_iam.gate.account.session import Sessions
from keyfence_iam.sts import Vending
from keyfence_iam.sts.refresh import Pace, Sweep
from keyfence_iam.tenant import TenantId


def production() -> Starlette:
    """What `keyfence serve` serves; no way of starting it gets past the settings' problems."""
    settings = read()
    if problems := settings.problems() or obstacles(settings):
        raise BadSettings(tuple(problems))
    log.configure(as_json=settings.log_json)
    vending = vending_from(settings, production_sts(settings), Pace(session=settings.session_seconds))
    tables = tables_at(settings, production_wire(settings), vending)
    served = application(settings, tables, vending)
    settle_down()
    return served


def local(settings: Settings, sessions: Sessions) -> Starlette:
    """What `keyfence dev` serves."""
    log.configure(as_json=settings.log_json)
    vending = local_vending(settings, sessions)
    return application(settings, local_tables(settings, vending), vending, local_migrator(settings, sessions))


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
    turns = turns or turns_of(settings, tables)
    ledger = turns.ledger
    metrics = Metrics(tables.meter, vending.counts, ledger.counts, turns.refusals)
    watching = Traffic()
    tables = replace(
        tables,
        on_foreign=metrics.foreign_item,
        on_denied=metrics.denied_call,
        accounts=ledger.accounts,
        watcher=watching,
    )
    usage = Flushing(ledger, Usages(tables.control(writes=True)), settings.usage_seconds)
    registry = Registry(tables.control(writes=False), max_age=settings.registry_seconds, on_shut=vending.forget)
    shadows = Shadows(registry, Differences(tables.control(writes=True)))
    published = published or PublishedKeys()
    owned = owned_issuers(settings, tables, published)

    def differs(tenant: TenantId, operation: str) -> None:
        metrics.difference(tenant, operation)
        shadows(tenant)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        sweep = Sweep(vending.renew_due)
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
        registry.learn(tenant)
        owned.doubt(tenant.issuer)

    counted = migrator and migrator.charged(ledger.accounts)
    compared = replace(tables, on_difference=differs)
    endpoint = tenants_endpoint(settings, compared, metrics, registry, owned, turns)
    attended = attendant(settings, tables, told, counted)
    traffic = traffic_of(settings, tables, watching.window, told, attended)
    admin = operators_endpoint(settings, tables, metrics, told, warden(settings, vending), counted, attended)
    return routes(
        endpoints={"/graphql": endpoint, "/admin/graphql": admin},
        ready=_readiness(registry),
        metrics=metrics,
        lifespan=lifespan,
    )


def _readiness(registry: Registry) -> Callable[[], Awaitable[str | None]]:
    async def ready() -> str | None:
        await registry.reach()
        return None

    return ready
