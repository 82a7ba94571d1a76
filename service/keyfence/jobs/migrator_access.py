"""Access of the migrator role: it scans all items, and writes each item with the credentials of its tenant."""

from dataclasses import dataclass, replace
from datetime import timedelta

from keyfence.jobs.job_runner import JobResources
from keyfence.jobs.job_store import JobStore
from keyfence.store.dynamodb.caller import CredentialSource
from keyfence.store.dynamodb.retry_policy import BACKGROUND_RETRIES
from keyfence.store.dynamodb.table_definition import SiloTables
from keyfence.store.scan import TableScan
from keyfence.store.table import Table
from keyfence.store.table_handles import Accounts, Tables
from keyfence.store.tenant_location import TenantLocation
from keyfence.tenancy.placement import Placement
from keyfence.tenancy.repository import TenantRepository
from keyfence.tenancy.suspensions import PublishSuspensions
from keyfence.tenancy.tenant_cache import location_of
from keyfence_iam.sts import SessionCache
from keyfence_iam.sts.session_spec import TableAccess
from keyfence_iam.tenant import TenantId


@dataclass(frozen=True, slots=True, kw_only=True)
class MigratorAccess:
    """Makes the table handles and scans that jobs use."""

    tables: Tables
    """Makes handles of tenants with the sessions of the migrator for that tenant."""
    scan_credentials: CredentialSource
    """The migrator's own credentials, which may scan and not write."""
    silos: SiloTables
    publish_suspensions: PublishSuspensions
    sessions: SessionCache
    settle: timedelta
    """How long after a change of a tenant a server may still act on the tenant as it was before."""

    def close(self) -> None:
        self.tables.client.close()
        self.sessions.close()

    def charging(self, accounts: Accounts) -> "MigratorAccess":
        """Returns the same access, whose calls are counted as usage of the tenants."""
        return replace(self, tables=replace(self.tables, accounts=accounts))

    def job_resources(self, *, units_per_second: float) -> JobResources:
        return JobResources(store=JobStore(self.control), scan=self.scan, units_per_second=units_per_second)

    @property
    def control(self) -> Table:
        return _with_batch_retries(self.tables.for_control_plane(writes=True))

    @property
    def scan(self) -> TableScan:
        """A scan of the shared table. Its cost is charged to the control plane."""
        return TableScan(replace(self.control.caller, credentials=self.scan_credentials))

    def silo_scan(self, tenant: TenantId) -> TableScan:
        """Returns a scan of the tenant's own table."""
        scan = self.scan
        return replace(scan, caller=replace(scan.caller, table=self.table_name(tenant, Placement.SILO)))

    def tenant(self, tenant: TenantId) -> Table:
        """Returns a handle of the shared table. It knows no shard counts, so it can only use keys that items have."""
        return self.table_at(TenantLocation(tenant=tenant))

    def table_at(self, location: TenantLocation) -> Table:
        return _with_batch_retries(self.tables.for_tenant(location, writes=True))

    def table_in(self, tenant: TenantId, placement: Placement) -> Table:
        """Returns a handle of one of the two tables, wherever the tenant's items are."""
        return self.table_at(TenantLocation(tenant=tenant, read_from=TableAccess[placement]))

    def table_for_both(self, tenant: TenantId) -> Table:
        """Returns a handle that calls one table at a time, with credentials that reach both."""
        table = self.tenant(tenant)
        both = self.tables.credentials.for_tenant(tenant, writes=True, table_access=TableAccess.BOTH)
        return replace(table, caller=replace(table.caller, credentials=both))

    def table_name(self, tenant: TenantId, placement: Placement) -> str:
        return self.tables.table_name_of(tenant, TableAccess[placement])

    async def location(self, tenant: TenantId) -> TenantLocation:
        """Returns where a tenant's items are. It does not expire: only the job that holds the tenant can change it."""
        return location_of(await TenantRepository(self.control, "").get(tenant))

    async def tenants_in_silos(self) -> list[TenantId]:
        """Returns the tenants whose items are in tables of their own, the newest first."""
        tenants = TenantRepository(self.control, "")
        return [tenant.id async for tenant in tenants.all() if tenant.reads is Placement.SILO]


def _with_batch_retries(table: Table) -> Table:
    """Retries longer than for requests: an hour of work should not fail because DynamoDB throttles for a minute."""
    return replace(table, caller=replace(table.caller, retry_policy=BACKGROUND_RETRIES))
