"""`MigratorAccess`: the table handles and scans of jobs, which run as the migrator role.

The migrator scans all items. It writes each item with the credentials of the tenant that owns the item."""

from dataclasses import dataclass, replace
from datetime import timedelta

from keyfence.jobs.job_repository import JobRepository
from keyfence.jobs.job_runner import JobResources
from keyfence.store.dynamodb.caller import CredentialSource
from keyfence.store.dynamodb.retry_policy import BACKGROUND_RETRIES
from keyfence.store.dynamodb.table_definition import SiloTables
from keyfence.store.scan import TableScan
from keyfence.store.table import Table
from keyfence.store.table_handles import AccountLookup, Tables
from keyfence.store.tenant_location import TenantLocation
from keyfence.tenancy.placement import Placement
from keyfence.tenancy.repository import TenantRepository
from keyfence.tenancy.suspensions import PublishSuspensions
from keyfence.tenancy.tenant_cache import TenantCache, location_of
from keyfence_iam.sts import SessionCache
from keyfence_iam.sts.session_spec import TableAccess
from keyfence_iam.tenant import TenantId


@dataclass(frozen=True, slots=True, kw_only=True)
class MigratorAccess:
    """Makes the table handles and scans that jobs use, and contains the times that jobs wait for."""

    tables: Tables
    """Makes table handles of tenants. The credentials of each handle are a session of the migrator for one tenant."""
    scan_credentials: CredentialSource
    """The migrator's own credentials. They allow Scan, but no writes to items of tenants."""
    silos: SiloTables
    publish_suspensions: PublishSuspensions
    sessions: SessionCache
    settle_time: timedelta
    """How long after a change of a tenant a server may still act on the tenant as it was before."""
    tenant_cache_seconds: float
    """How old a cached tenant may be when a job starts to process an item."""
    tenant_use_seconds: float
    """How long the job may use the cached tenant after that. The settle time includes both numbers."""

    def close(self) -> None:
        self.tables.client.close()
        self.sessions.close()

    def with_accounts(self, accounts: AccountLookup) -> "MigratorAccess":
        """Returns an access whose calls are counted as usage of the tenants."""
        return replace(self, tables=replace(self.tables, accounts=accounts))

    def job_resources(self, *, units_per_second: float) -> JobResources:
        return JobResources(store=JobRepository(self.control), scan=self.scan, units_per_second=units_per_second)

    @property
    def control(self) -> Table:
        """A handle of the control plane."""
        return _with_background_retries(self.tables.for_control_plane(may_write=True))

    @property
    def scan(self) -> TableScan:
        """A scan of the shared table. Its usage counts for the control plane."""
        return TableScan(replace(self.control.caller, credentials=self.scan_credentials))

    def silo_scan(self, tenant: TenantId) -> TableScan:
        """Returns a scan of the tenant's own table."""
        scan = self.scan
        return replace(scan, caller=replace(scan.caller, table=self.table_name(tenant, Placement.SILO)))

    def tenant_cache(self) -> TenantCache:
        """Returns a new cache of tenants that uses a tenant for as long as a server does."""
        return TenantCache(
            self.control,
            max_age_seconds=self.tenant_cache_seconds,
            max_use_seconds=self.tenant_use_seconds,
            clock=self.tables.clock,
        )

    def table_in_pool(self, tenant: TenantId) -> Table:
        """Returns a handle of the shared table without shard counts. It must not write new items, because their keys
        would have the wrong shard."""
        return self.table_at(TenantLocation(tenant=tenant))

    def table_at(self, location: TenantLocation) -> Table:
        return _with_background_retries(self.tables.for_tenant(location, may_write=True))

    def table_in(self, tenant: TenantId, placement: Placement) -> Table:
        """Returns a handle of the shared table or of the tenant's own table, also if the tenant has no items there."""
        return self.table_at(TenantLocation(tenant=tenant, read_from=TableAccess[placement]))

    def table_for_both(self, tenant: TenantId) -> Table:
        """Returns a handle that calls one table at a time, with credentials that reach both tables."""
        table = self.table_in_pool(tenant)
        credentials = self.tables.credentials.for_tenant(tenant, may_write=True, table_access=TableAccess.BOTH)
        return replace(table, caller=replace(table.caller, credentials=credentials))

    def table_name(self, tenant: TenantId, placement: Placement) -> str:
        return self.tables.table_name_of(tenant, TableAccess[placement])

    async def location(self, tenant: TenantId) -> TenantLocation:
        """Returns where a tenant's items are. The location does not expire: only the running job can change it."""
        return location_of(await TenantRepository(self.control, "").get(tenant))

    async def tenants_in_silos(self) -> list[TenantId]:
        """Returns the tenants whose items are in tables of their own, the newest first."""
        tenants = TenantRepository(self.control, "")
        return [tenant.id async for tenant in tenants.all() if tenant.read_placement is Placement.SILO]


def _with_background_retries(table: Table) -> Table:
    """Returns a handle that retries longer than a request does.

    An hour of work should not fail because DynamoDB throttles for a minute."""
    return replace(table, caller=replace(table.caller, retry_policy=BACKGROUND_RETRIES))
