"""`Service`: builds both endpoints and the background tasks, and starts and stops them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta

from starlette.applications import Starlette

from keyfence.admin.context import AdminContextFactory
from keyfence.admin.schema import schema as admin_schema
from keyfence.admission.admission import Admission
from keyfence.app.aws_connections import Connections
from keyfence.app.domain_loading import load_domains
from keyfence.auth.jwks_refresh import JwksFetcher
from keyfence.auth.tenant_issuer_cache import TenantIssuerCache
from keyfence.auth.token_verifier import operator_verifier, tenant_verifier
from keyfence.domains.sessions.revocation import RevocationCheck
from keyfence.graphql.executor import GraphQLExecutor
from keyfence.hot_partitions.autopilot import AUTHOR, Autopilot
from keyfence.hot_partitions.fleet_traffic import FleetTraffic
from keyfence.hot_partitions.hot_partition_finder import CollectionMatcher, HotPartitionFinder
from keyfence.hot_partitions.traffic_observer import TrafficObserver
from keyfence.hot_partitions.traffic_publisher import TrafficPublisher
from keyfence.http.graphiql import graphiql_page, graphiql_routes
from keyfence.http.graphql_endpoint import GraphQLEndpoint
from keyfence.http.metrics import Metrics
from keyfence.http.routes import build_app
from keyfence.http.tenant_and_operator_apis import OperatorApi, TenantApi
from keyfence.jobs.background_jobs import BackgroundJobs, ServerJobRunner
from keyfence.jobs.job_programs import ExportTarget
from keyfence.jobs.move.shadow_differences import DifferenceReporter, ShadowDifferences
from keyfence.jobs.offboard.certificate import signer
from keyfence.jobs.reshard.start_reshard import StartReshard
from keyfence.settings import Settings
from keyfence.store.table_handles import Accounts
from keyfence.tenancy.repository import TenantRepository
from keyfence.tenancy.tenant import Tenant
from keyfence.tenancy.tenant_cache import TenantCache
from keyfence.usage.hourly_usage import UsageRepository, price_table
from keyfence.usage.ledger import UsageFlusher
from keyfence_iam.sts.session_refresh import RefreshThread
from keyfence_iam.tenant import TenantId
from keyfence_iam.token_bucket import call_budget


class Service:
    """The ASGI application in `app`, and the tasks beside it. The application's lifespan calls `start` and `stop`.

    Tests may give their own `jwks` and `admission`."""

    def __init__(
        self, connections: Connections, *, jwks: JwksFetcher | None = None, admission: Admission | None = None
    ) -> None:
        self.connections, self.settings = connections, connections.settings
        self.admission = admission or Admission.from_settings(self.settings, connections.tables.meter)
        ledger = self.admission.ledger
        observer = TrafficObserver(projections=connections.tables.entities.projections)
        self.metrics = Metrics(
            connections.tables.meter, connections.sessions.counts, ledger.counts, self.admission.refusals
        )
        self.tables = replace(
            connections.tables,
            on_foreign_item=self.metrics.count_foreign_item,
            on_denied=self.metrics.count_denied_call,
            accounts=ledger.accounts,
            observer=observer,
        )
        control = self.tables.for_control_plane(writes=True)
        self._jwks = jwks or JwksFetcher()
        self._tenants = self._tenant_cache()
        self._issuers = self._tenant_issuers()
        self._usage = UsageFlusher(ledger, UsageRepository(control), self.settings.usage_seconds)
        self._differences = DifferenceReporter(self._tenants, ShadowDifferences(control))
        self._jobs = self._background_jobs(ledger.accounts)
        self._traffic = self._traffic_publisher(observer)
        self._refresh = RefreshThread(connections.sessions.refresh_due)
        self.app = build_app(
            endpoints={"/graphql": self._tenant_endpoint(), "/admin/graphql": self._operator_endpoint()},
            check_ready=self._tenants.check_readable,
            metrics=self.metrics,
            file_routes=graphiql_routes() if self.settings.graphiql else (),
            lifespan=self._lifespan,
        )

    def start(self) -> None:
        """Start the background tasks. Needs a running event loop."""
        self._refresh.start()
        self._usage.start()
        self._traffic.start()

    async def stop(self) -> None:
        """Stop the tasks, write what they still hold, and close all connections."""
        await self._traffic.stop()
        await self._jobs.stop()
        await self._differences.stop()
        await self._usage.stop()
        self._refresh.stop()
        self._jwks.close()
        self.connections.close()

    def tenant_changed(self, tenant: Tenant) -> None:
        """Use the changed tenant in this process immediately, instead of when the cached one expires."""
        self._tenants.invalidate_with(tenant)
        self._issuers.invalidate(tenant.issuer)

    def reads_differ(self, tenant: TenantId, operation: str) -> None:
        """Count a read for which the two tables of a tenant that is being moved gave different answers."""
        self.metrics.count_read_difference(operation)
        self._differences(tenant)

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        self.start()
        yield
        await self.stop()

    def _tenant_endpoint(self) -> GraphQLEndpoint:
        settings, domains = self.settings, load_domains(self.settings.domains)
        api = TenantApi(
            verifier=tenant_verifier(settings, tenant_issuers=self._issuers),
            tenants=self._tenants,
            admission=self.admission,
            tables=replace(self.tables, on_difference=self.reads_differ),
            new_activity_log=domains.new_activity_log,
            revocations=RevocationCheck(settings.revocation_seconds),
            prices=price_table(settings),
            everyone_may_introspect=settings.introspection,
        )
        page = graphiql_page("/graphql") if settings.graphiql else None
        return GraphQLEndpoint(api, GraphQLExecutor(domains.schema), self.metrics, graphiql=page)

    def _operator_endpoint(self) -> GraphQLEndpoint:
        settings = self.settings
        contexts = AdminContextFactory(
            settings=settings,
            tables=self.tables,
            publish_suspensions=self.connections.publish_suspensions,
            on_tenant_changed=self.tenant_changed,
            run_in_background=self._jobs,
        )
        api = OperatorApi(
            verifier=operator_verifier(settings), contexts=contexts, everyone_may_introspect=settings.introspection
        )
        page = graphiql_page("/admin/graphql") if settings.graphiql else None
        return GraphQLEndpoint(api, GraphQLExecutor(admin_schema), self.metrics, graphiql=page)

    def _tenant_cache(self) -> TenantCache:
        return TenantCache(
            self.tables.for_control_plane(writes=False),
            max_age_seconds=self.settings.tenant_cache_seconds,
            max_use_seconds=self.settings.tenant_use_seconds,
            on_inactive=self.connections.sessions.forget,
        )

    def _tenant_issuers(self) -> TenantIssuerCache:
        return TenantIssuerCache(
            TenantRepository(self.tables.for_control_plane(writes=False), "").find_issuer,
            self._jwks.key_set,
            call_budget(self.settings.issuer_lookups_per_second),
            max_age_seconds=self.settings.tenant_cache_seconds,
        )

    def _background_jobs(self, accounts: Accounts) -> BackgroundJobs:
        migrator, settings = self.connections.migrator, self.settings
        runner = ServerJobRunner(
            tables=self.tables,
            settle_time=timedelta(seconds=settings.settle_seconds),
            units_per_second=settings.migration_units_per_second,
            migrator=migrator and migrator.with_accounts(accounts),
            exports=_export_target(settings),
            on_tenant_changed=self.tenant_changed,
        )
        return BackgroundJobs(runner)

    def _traffic_publisher(self, observer: TrafficObserver) -> TrafficPublisher:
        """The autopilot starts a reshard as an operator would, and this server runs the job."""
        settings, control = self.settings, self.tables.for_control_plane(writes=True)
        repository = TenantRepository(control, AUTHOR)
        finder = HotPartitionFinder(
            observer.window, CollectionMatcher.from_entities(self.tables.entities), settings.server_count
        )
        collections = self.tables.entities.collections
        grow = StartReshard(repository, collections, self.tenant_changed, self._jobs)
        autopilot = Autopilot(tenants=repository, collections=collections, mode=settings.autopilot, start_growth=grow)
        return TrafficPublisher(finder, FleetTraffic(control), autopilot, settings.traffic_seconds)


def _export_target(settings: Settings) -> ExportTarget | None:
    if settings.exports is None or settings.signing_key is None:
        return None
    return ExportTarget(settings.exports, signer(settings.signing_key.get_secret_value()))
