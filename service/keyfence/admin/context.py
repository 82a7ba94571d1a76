"""`AdminContext`: the objects that a request or command of an operator uses. `AdminContextFactory` makes it."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from strawberry.types import Info as StrawberryInfo

from keyfence.admin.onboarding import Onboarding
from keyfence.auth.principal import Operator
from keyfence.domains.activity.activity_log import new_activity_log
from keyfence.domains.users.repository import UserRepository
from keyfence.hot_partitions.fleet_traffic import FleetTraffic, HotPartitions
from keyfence.jobs.job_record import Job
from keyfence.jobs.job_repository import JobRepository
from keyfence.jobs.move.start_move import StartMove
from keyfence.jobs.offboard.start_offboarding import StartOffboarding
from keyfence.jobs.reshard.start_reshard import StartReshard
from keyfence.settings import Settings
from keyfence.store.table_handles import Tables
from keyfence.tenancy.administration import TenantAdministration
from keyfence.tenancy.issuer_key_rotation import IssuerKeyRotation
from keyfence.tenancy.repository import TenantRepository
from keyfence.tenancy.suspensions import PublishSuspensions, SuspensionPublisher
from keyfence.tenancy.tenant import Tenant
from keyfence.tenancy.tenant_cache import location_of
from keyfence.usage.hourly_usage import PriceTable, UsageRepository, price_table

ONBOARDER = "keyfence"
"""The author of a tenant's first user in the tenant's activity log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminContext:
    """The objects that the resolvers of the operators' API use. None of them reads items of a tenant, except that
    `onboard` looks for the owner of the new tenant."""

    operator: Operator
    tenants: TenantRepository
    administration: TenantAdministration
    onboard: Onboarding
    rotate_issuer_keys: IssuerKeyRotation
    start_offboarding: StartOffboarding
    start_reshard: StartReshard
    start_move: StartMove
    jobs: JobRepository
    usage: UsageRepository
    prices: PriceTable
    hot_partitions: HotPartitions
    on_tenant_changed: Callable[[Tenant], None]
    """Called with each changed tenant, so that this process uses the change immediately."""


Info = StrawberryInfo[AdminContext, None]


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminContextFactory:
    """Makes the context of an operator's request or command."""

    settings: Settings
    tables: Tables
    publish_suspensions: PublishSuspensions
    on_tenant_changed: Callable[[Tenant], None] = lambda _: None
    run_in_background: Callable[[Job], None] = lambda _: None
    """Called with each job that was started or resumed."""

    def context(self, operator: Operator, *, may_write: bool) -> AdminContext:
        """Returns a context that may write to the control plane only if `may_write` is true."""
        control_plane, on_changed = self.tables.for_control_plane(may_write=may_write), self.on_tenant_changed
        tenants = TenantRepository(control_plane, operator.subject)
        suspensions = SuspensionPublisher(control_plane, self.publish_suspensions)
        collections = self.tables.entities.collections
        return AdminContext(
            operator=operator,
            tenants=tenants,
            administration=TenantAdministration(tenants, suspensions, on_changed),
            onboard=self.new_onboarding(tenants),
            rotate_issuer_keys=IssuerKeyRotation(
                tenants, on_changed, allow_development_keys=self.settings.allow_development_keys
            ),
            start_offboarding=StartOffboarding(tenants, suspensions, on_changed, self.run_in_background),
            start_reshard=StartReshard(tenants, collections, on_changed, self.run_in_background),
            start_move=StartMove(tenants, on_changed, self.run_in_background),
            jobs=JobRepository(control_plane),
            usage=UsageRepository(control_plane),
            prices=price_table(self.settings),
            hot_partitions=HotPartitions(control_plane, FleetTraffic(control_plane), collections),
            on_tenant_changed=on_changed,
        )

    def new_onboarding(self, tenants: TenantRepository) -> Onboarding:
        """Returns an onboarding, which stores the owner with a session of the new tenant."""
        issuers_in_settings = (*self.settings.issuers, *self.settings.admin_issuers)
        return Onboarding(
            tenants,
            self._users_of,
            frozenset(settings.issuer for settings in issuers_in_settings),
            allow_development_keys=self.settings.allow_development_keys,
        )

    def _users_of(self, tenant: Tenant) -> UserRepository:
        table = self.tables.for_tenant(location_of(tenant), may_write=True)
        return UserRepository(replace(table, activity_log=new_activity_log(ONBOARDER)))
