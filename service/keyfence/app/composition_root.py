"""`Service`: puts the application together from its endpoints and background tasks, and starts and stops the tasks."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta

from starlette.applications import Starlette
from starlette.routing import Route

from keyfence.admin.context import AdminContextFactory
from keyfence.admin.schema import schema as admin_schema
from keyfence.admission.admission import Admission
from keyfence.app.aws_connections import Connections
from keyfence.app.domain_loading import load_domains
from keyfence.auth.jwks_refresh import JwksFetcher
from keyfence.auth.tenant_issuer_cache import TenantIssuerCache
from keyfence.auth.token_verifier import operator_verifier, tenant_verifier
from keyfence.domains.sessions.revocation import RevocationCheck
from keyfence.errors import KeyfenceError
from keyfence.graphql.executor import GraphQLExecutor
from keyfence.hot_partitions.fleet_traffic import FleetTraffic
from keyfence.hot_partitions.hot_partition_finder import CollectionMatcher, HotPartitionFinder
from keyfence.hot_partitions.shard_autopilot import AUTOPILOT_AUTHOR, Autopilot
from keyfence.hot_partitions.traffic_observer import TrafficObserver
from keyfence.hot_partitions.traffic_publisher import TrafficPublisher
from keyfence.http.cors import CorsPolicy
from keyfence.http.graphiql import graphiql_page, graphiql_routes
from keyfence.http.graphql_endpoint import GraphQLEndpoint
from keyfence.http.metrics import Metrics
from keyfence.http.operator_api import OperatorApi
from keyfence.http.routes import NotReady, build_app
from keyfence.http.tenant_api import TenantApi
from keyfence.jobs.background_jobs import BackgroundJobs, ServerJobRunner
from keyfence.jobs.job_programs import ExportTarget
from keyfence.jobs.move.read_differences import DifferenceReporter, ReadDifferences
from keyfence.jobs.offboard.certificate import parse_signer
from keyfence.jobs.reshard.start_reshard import StartReshard
from keyfence.settings import Settings
from keyfence.store.foreign_items import ForeignItemLog
from keyfence.store.table_handles import AccountLookup
from keyfence.tenancy.repository import TenantRepository
from keyfence.tenancy.tenant import Tenant
from keyfence.tenancy.tenant_cache import TenantCache
from keyfence.usage.hourly_usage import UsageRepository, price_table
from keyfence.usage.ledger import UsageFlusher
from keyfence_iam.http_connection_limits import CONNECTION_GUARD_KEY, ConnectionGuard, ConnectionLimits
from keyfence_iam.sts.session_refresh import RefreshThread
from keyfence_iam.tenant import TenantId
from keyfence_iam.token_bucket import call_budget


class Service:
    """The ASGI application `app` and its background tasks. The lifespan of the application calls `start` and `stop`.

    Tests may replace `jwks` and `admission`."""

    def __init__(
        self,
        connections: Connections,
        *,
        jwks: JwksFetcher | None = None,
        admission: Admission | None = None,
        sign_in_path: str | None = None,
        more_routes: Iterable[Route] = (),
    ) -> None:
        """`sign_in_path` is the path of the routes by which GraphiQL gets a token. They are in `more_routes`."""
        self.connections, self.settings = connections, connections.settings
        self._sign_in_path = sign_in_path
        self.admission = admission or Admission.from_settings(self.settings, connections.tables.meter)
        ledger = self.admission.ledger
        observer = TrafficObserver(projections=connections.tables.entities.projections)
        self._connection_guard = ConnectionGuard(_connection_limits(self.settings))
        self.metrics = Metrics(
            connections.tables.meter,
            connections.sessions.counts,
            ledger.counts,
            self.admission.refusals,
            self._connection_guard.violations,
        )
        self.tables = replace(
            connections.tables,
            on_foreign_items=ForeignItemLog(on_count=self.metrics.count_foreign_items),
            on_denied=self.metrics.count_denied_call,
            accounts=ledger.accounts,
            observer=observer,
        )
        control = self.tables.for_control_plane(may_write=True)
        self._jwks = jwks or JwksFetcher(allow_development_keys=self.settings.allow_development_keys)
        self._tenants = self._make_tenant_cache()
        self._issuers = self._make_tenant_issuers()
        self._usage_flusher = UsageFlusher(ledger, UsageRepository(control), self.settings.usage_seconds)
        self._difference_reporter = DifferenceReporter(self._tenants, ReadDifferences(control))
        self._jobs = self._make_background_jobs(ledger.accounts)
        self._traffic_publisher = self._make_traffic_publisher(observer)
        self._refresh_thread = RefreshThread(connections.sessions.refresh_due_sessions)
        self.app = build_app(
            endpoints={"/graphql": self._make_tenant_endpoint(), "/admin/graphql": self._make_operator_endpoint()},
            check_ready=self._check_ready,
            metrics=self.metrics,
            more_routes=[*(graphiql_routes() if self.settings.graphiql else ()), *more_routes],
            lifespan=self._lifespan,
        )

    def start(self) -> None:
        """Starts the background tasks. Needs a running event loop."""
        self._refresh_thread.start()
        self._usage_flusher.start()
        self._traffic_publisher.start()

    async def stop(self) -> None:
        """Stops the tasks after they have written the data that they hold, and closes all connections."""
        await self._traffic_publisher.stop()
        await self._jobs.stop()
        await self._difference_reporter.stop()
        await self._usage_flusher.stop()
        self._refresh_thread.stop()
        self._jwks.close()
        self.connections.close()

    def tenant_changed(self, tenant: Tenant) -> None:
        """Makes this process use the changed tenant now. Other processes use it when their cached copy expires."""
        self._tenants.invalidate(tenant)
        self._issuers.invalidate(tenant.issuer)

    def count_read_difference(self, tenant: TenantId, operation: str) -> None:
        """Counts a read for which the two tables of a tenant that is being moved gave different answers."""
        self.metrics.count_read_difference(operation)
        self._difference_reporter(tenant)

    async def _check_ready(self) -> None:
        """Raises NotReady while STS issues no sessions, and another error if the tenants cannot be read.

        The check makes no call to STS during an outage. The refresh of sessions notices the end of the outage."""
        self._check_sessions()
        try:
            await self._tenants.check_readable()
        except KeyfenceError:
            self._check_sessions()  # the tenants are read with a session, which may have been refused just now
            raise

    def _check_sessions(self) -> None:
        if problem := self.connections.sessions.health.problem:
            raise NotReady(problem)

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[dict[str, object]]:
        """Yields the lifespan state, from which the server takes the limits of connections."""
        self.start()
        yield {CONNECTION_GUARD_KEY: self._connection_guard}
        await self.stop()

    def _make_tenant_endpoint(self) -> GraphQLEndpoint:
        settings, domains = self.settings, load_domains(self.settings.domains)
        api = TenantApi(
            verifier=tenant_verifier(settings, tenant_issuers=self._issuers),
            tenants=self._tenants,
            admission=self.admission,
            tables=replace(self.tables, on_difference=self.count_read_difference),
            new_activity_log=domains.new_activity_log,
            revocations=RevocationCheck(settings.revocation_seconds),
            prices=price_table(settings),
            everyone_may_introspect=settings.introspection,
            tenants_have_origins=settings.tenant_origins,
        )
        page = graphiql_page("/graphql", sign_in_path=self._sign_in_path) if settings.graphiql else None
        cors = CorsPolicy(origins=frozenset(settings.origins), tenants_have_origins=settings.tenant_origins)
        return GraphQLEndpoint(api, GraphQLExecutor(domains.schema), self.metrics, graphiql=page, cors=cors)

    def _make_operator_endpoint(self) -> GraphQLEndpoint:
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
        page = graphiql_page("/admin/graphql", sign_in_path=self._sign_in_path) if settings.graphiql else None
        cors = CorsPolicy(origins=frozenset(settings.admin_origins))
        return GraphQLEndpoint(api, GraphQLExecutor(admin_schema), self.metrics, graphiql=page, cors=cors)

    def _make_tenant_cache(self) -> TenantCache:
        return TenantCache(
            self.tables.for_control_plane(may_write=False),
            max_age_seconds=self.settings.tenant_cache_seconds,
            max_use_seconds=self.settings.tenant_use_seconds,
            on_inactive=self.connections.sessions.forget,
        )

    def _make_tenant_issuers(self) -> TenantIssuerCache:
        return TenantIssuerCache(
            TenantRepository(self.tables.for_control_plane(may_write=False), "").find_issuer,
            self._jwks.key_set,
            call_budget(self.settings.issuer_lookups_per_second),
            max_age_seconds=self.settings.tenant_cache_seconds,
        )

    def _make_background_jobs(self, accounts: AccountLookup) -> BackgroundJobs:
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

    def _make_traffic_publisher(self, observer: TrafficObserver) -> TrafficPublisher:
        """Returns the task that publishes traffic. Its autopilot starts a reshard as a job of this server."""
        settings, control = self.settings, self.tables.for_control_plane(may_write=True)
        repository = TenantRepository(control, AUTOPILOT_AUTHOR)
        finder = HotPartitionFinder(
            observer.window, CollectionMatcher.from_entities(self.tables.entities), settings.server_count
        )
        collections = self.tables.entities.collections
        start_reshard = StartReshard(repository, collections, self.tenant_changed, self._jobs)
        autopilot = Autopilot(
            tenants=repository, collections=collections, mode=settings.autopilot, start_growth=start_reshard
        )
        return TrafficPublisher(finder, FleetTraffic(control), autopilot, settings.traffic_seconds)


def _connection_limits(settings: Settings) -> ConnectionLimits:
    return ConnectionLimits(
        connections=settings.max_connections,
        connections_per_peer=settings.max_connections_per_peer,
        trusted_proxies=settings.trusted_proxies,
    )


def _export_target(settings: Settings) -> ExportTarget | None:
    if settings.exports is None or settings.signing_key is None:
        return None
    return ExportTarget(settings.exports, parse_signer(settings.signing_key.get_secret_value()))
