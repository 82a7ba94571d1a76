"""The operators' endpoint and what their requests hold."""

from collections.abc import Callable
from dataclasses import replace

from service.admin.context import Context as AdminContext
from service.admin.schema import schema as admin_schema
from service.auth.bearer import bearer
from service.auth.principal import Operator
from service.auth.scopes import INTROSPECT
from service.auth.tokens import operator_verifier
from service.domains.activity.repository import journal
from service.domains.users.repository import Users
from service.graphql.execution import GraphQLExecutor
from service.http.endpoint import GraphQLEndpoint
from service.http.graphiql import graphiql_page
from service.http.metrics import Metrics
from service.migrations.records import Records
from service.operations.migrator import Migrator
from service.operations.moving import Moves
from service.operations.offboarding.attended import Attended
from service.operations.offboarding.beginning import Beginning, Offboard
from service.operations.offboarding.signer import signer
from service.operations.onboarding import Onboarding
from service.operations.resharding import Reshards, nobody
from service.settings import Settings
from service.store.tables import Tables
from service.tenancy.home import home_of
from service.tenancy.identities import Rotation
from service.tenancy.migration import Migration
from service.tenancy.model import Tenant
from service.tenancy.register import Register
from service.tenancy.standing import Standing
from service.tenancy.suspensions import Shut, Suspensions
from service.traffic.hot_partition import HotPartitions
from service.traffic.repository import FleetTraffic
from service.usage.prices import prices_in
from service.usage.repository import Usages

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
