"""`Context` of an operator's request, and `AdminContextFactory`, which makes it."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from strawberry.types import Info as StrawberryInfo

from keyfence.admin.onboarding import Onboarding
from keyfence.auth.principal import Operator
from keyfence.domains.activity.activity_log import new_activity_log
from keyfence.domains.users.repository import UserRepository
from keyfence.hot_partitions.fleet_traffic import FleetTraffic, HotPartitions
from keyfence.jobs.job_record import Job
from keyfence.jobs.job_store import JobStore
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
    """The objects that resolvers of the operators' API use. None of them reads a tenant's own items."""

    operator: Operator
    tenants: TenantRepository
    administration: TenantAdministration
    onboarding: Onboarding
    rotation: IssuerKeyRotation
    offboarding: StartOffboarding
    reshards: StartReshard
    moves: StartMove
    jobs: JobStore
    usage: UsageRepository
    prices: PriceTable
    hot_partitions: HotPartitions
    on_tenant_changed: Callable[[Tenant], None]
    """Called with each changed tenant, so that this process uses it immediately."""


Info = StrawberryInfo[AdminContext, None]


def _ignore(_: Tenant) -> None:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminContextFactory:
    """Makes the context of an operator's request or command."""

    settings: Settings
    tables: Tables
    publish_suspensions: PublishSuspensions
    on_tenant_changed: Callable[[Tenant], None] = _ignore
    run_in_background: Callable[[Job], None] = lambda _: None

    def context(self, operator: Operator, *, writes: bool) -> AdminContext:
        control, on_changed = self.tables.for_control_plane(writes=writes), self.on_tenant_changed
        tenants = TenantRepository(control, operator.subject)
        suspensions = SuspensionPublisher(control, self.publish_suspensions)
        collections = self.tables.entities.collections
        return AdminContext(
            operator=operator,
            tenants=tenants,
            administration=TenantAdministration(tenants, suspensions, on_changed),
            onboarding=self.onboarding(tenants),
            rotation=IssuerKeyRotation(tenants, on_changed, allow_development_keys=self._allow_development_keys),
            offboarding=StartOffboarding(tenants, suspensions, on_changed, self.run_in_background),
            reshards=StartReshard(tenants, collections, on_changed, self.run_in_background),
            moves=StartMove(tenants, on_changed, self.run_in_background),
            jobs=JobStore(control),
            usage=UsageRepository(control),
            prices=price_table(self.settings),
            hot_partitions=HotPartitions(control, FleetTraffic(control), collections),
            on_tenant_changed=on_changed,
        )

    def onboarding(self, tenants: TenantRepository) -> Onboarding:
        """Return the onboarding, which writes the owner's item with the new tenant's own session."""
        configured = (*self.settings.issuers, *self.settings.admin_issuers)
        return Onboarding(
            tenants,
            self._users_of,
            frozenset(one.issuer for one in configured),
            allow_development_keys=self._allow_development_keys,
        )

    @property
    def _allow_development_keys(self) -> bool:
        """Whether tenants may have keys that `keyfence jwks` made. Only AWS needs KEYFENCE_ROLE_ARN_PREFIX."""
        return self.settings.role_arn_prefix is None

    def _users_of(self, tenant: Tenant) -> UserRepository:
        table = self.tables.for_tenant(location_of(tenant), writes=True)
        return UserRepository(replace(table, activity_log=new_activity_log(ONBOARDER)))
