"""The operators' endpoint and what their requests hold."""

from collections.abc import Callable
from dataclasses import replace

from keyfence.admin.context import Context as AdminContext
from keyfence.admin.onboarding import Onboarding
from keyfence.admin.schema import schema as admin_schema
from keyfence.auth.principal import INTROSPECT, Operator
from keyfence.auth.token import bearer
from keyfence.auth.verifier import operator_verifier
from keyfence.domains.activity.activity_log import journal
from keyfence.domains.users.repository import Users
from keyfence.graphql.executor import GraphQLExecutor
from keyfence.hot_partitions.fleet import FleetTraffic, HotPartitions
from keyfence.http.graphiql import graphiql_page
from keyfence.http.graphql_endpoint import GraphQLEndpoint
from keyfence.http.metrics import Metrics
from keyfence.jobs.job import Migration
from keyfence.jobs.lease import Records
from keyfence.jobs.migrator import Migrator
from keyfence.jobs.move.start import Moves
from keyfence.jobs.offboard.certificate import signer
from keyfence.jobs.offboard.job import Attended
from keyfence.jobs.offboard.start import Beginning, Offboard
from keyfence.jobs.reshard.start import Reshards, nobody
from keyfence.settings import Settings
from keyfence.store.tables import Tables
from keyfence.tenancy.administration import Rotation, Standing
from keyfence.tenancy.cache import home_of
from keyfence.tenancy.repository import Register
from keyfence.tenancy.suspensions import Shut, Suspensions
from keyfence.tenancy.tenant import Tenant
from keyfence.usage.hourly_usage import Usages, prices_in

ONBOARDER = "keyfence"
"""In whose name a tenant's first user is made."""


def operators_endpoint(
    settings: Settings,
    tables: Tables,
    metrics: Metrics,
    told: Callable[[Tenant], None],
    shut: Shut,
    migrator: Migrator | None,
    attendant: Callable[[Migration], None],
) -> GraphQLEndpoint[Operator, AdminContext]:
    verifier = operator_verifier(settings)

    async def admit(authorization: str | None) -> Operator:
        return await verifier.verify(bearer(authorization))

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
    shut: Shut,
    migrator: Migrator | None,
    attendant: Callable[[Migration], None] = nobody,
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
        reshards=Reshards(register, told, attendant),
        moves=Moves(register, told, attendant),
        migrations=Records(control),
        usages=Usages(control),
        prices=prices_in(settings),
        hot=HotPartitions(control, FleetTraffic(control)),
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
        return Users(replace(tables.tenant(home_of(tenant), writes=True), journal=journal(ONBOARDER)))

    named = (*settings.issuers, *settings.admin_issuers)
    return Onboarding(register, users_of, frozenset(one.issuer for one in named))
