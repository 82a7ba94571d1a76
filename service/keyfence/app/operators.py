"""The operators' endpoint and what their requests hold."""

from collections.abc import Callable
from dataclasses import replace

from keyfence.admin.context import Context as AdminContext
from keyfence.admin.onboarding import Onboarding
from keyfence.admin.schema import schema as admin_schema
from keyfence.auth.principal import INTROSPECT, Operator
from keyfence.auth.token import bearer_token
from keyfence.auth.verifier import operator_verifier
from keyfence.domains.activity.activity_log import activity_log
from keyfence.domains.users.repository import UserRepository
from keyfence.graphql.executor import GraphQLExecutor
from keyfence.hot_partitions.fleet import FleetTraffic, HotPartitions
from keyfence.http.graphiql import graphiql_page
from keyfence.http.graphql_endpoint import GraphQLEndpoint
from keyfence.http.metrics import Metrics
from keyfence.jobs.job import Job
from keyfence.jobs.lease import JobStore
from keyfence.jobs.migrator import MigratorAccess
from keyfence.jobs.move.start import StartMove
from keyfence.jobs.offboard.certificate import signer
from keyfence.jobs.offboard.job import OffboardWithinRequest
from keyfence.jobs.offboard.start import Offboard, StartOffboarding
from keyfence.jobs.reshard.start import StartReshard, nobody
from keyfence.settings import Settings
from keyfence.store.tables import Tables
from keyfence.tenancy.administration import IssuerKeyRotation, TenantAdministration
from keyfence.tenancy.cache import location_of
from keyfence.tenancy.repository import TenantRepository
from keyfence.tenancy.suspensions import PublishSuspensions, SuspensionPublisher
from keyfence.tenancy.tenant import Tenant
from keyfence.usage.hourly_usage import UsageRepository, price_table

ONBOARDER = "keyfence"
"""In whose name a tenant's first user is made."""


def operators_endpoint(
    settings: Settings,
    tables: Tables,
    metrics: Metrics,
    told: Callable[[Tenant], None],
    shut: PublishSuspensions,
    migrator: MigratorAccess | None,
    attendant: Callable[[Job], None],
) -> GraphQLEndpoint[Operator, AdminContext]:
    verifier = operator_verifier(settings)

    async def admit(authorization: str | None) -> Operator:
        return await verifier.verify(bearer_token(authorization))

    return GraphQLEndpoint(
        authenticate=admit,
        executor=GraphQLExecutor(admin_schema),
        context=lambda operator, request: admin_context(
            settings, operator, tables, told, shut, migrator, attendant, writes=request.mutates
        ),
        introspection=lambda operator: settings.introspection or INTROSPECT in operator.scopes,
        page=graphiql_page if settings.graphiql else None,
        metrics=metrics,
    )


def admin_context(
    settings: Settings,
    operator: Operator,
    tables: Tables,
    told: Callable[[Tenant], None],
    shut: PublishSuspensions,
    migrator: MigratorAccess | None,
    attendant: Callable[[Job], None] = nobody,
    *,
    writes: bool,
) -> AdminContext:
    control = tables.control(writes=writes)
    register, suspensions = TenantRepository(control, operator.subject), SuspensionPublisher(control, shut)
    return AdminContext(
        operator=operator,
        register=register,
        standing=TenantAdministration(register, suspensions, told),
        onboarding=onboarding(settings, register, tables),
        rotation=IssuerKeyRotation(register, told),
        offboarding=_offboarding(settings, StartOffboarding(register, suspensions, told), migrator),
        reshards=StartReshard(register, told, attendant),
        moves=StartMove(register, told, attendant),
        migrations=JobStore(control),
        usages=UsageRepository(control),
        prices=price_table(settings),
        hot=HotPartitions(control, FleetTraffic(control)),
        told=told,
    )


def _offboarding(settings: Settings, begin: StartOffboarding, migrator: MigratorAccess | None) -> Offboard:
    if migrator is None or settings.exports is None or settings.signing_key is None:
        return begin
    signing = signer(settings.signing_key.get_secret_value())
    by, rate = begin.register.by, settings.migration_units_per_second
    return OffboardWithinRequest(begin, migrator.means(by=by, exports=settings.exports, signer=signing, rate=rate))


def onboarding(settings: Settings, register: TenantRepository, tables: Tables) -> Onboarding:
    """The owner is written with the tenant's own credentials, as everything of a tenant is."""

    def users_of(tenant: Tenant) -> UserRepository:
        return UserRepository(
            replace(tables.tenant(location_of(tenant), writes=True), activity_log=activity_log(ONBOARDER))
        )

    named = (*settings.issuers, *settings.admin_issuers)
    return Onboarding(register, users_of, frozenset(one.issuer for one in named))
