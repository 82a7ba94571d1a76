"""`MigratorAccess`: scan as migrator, write as tenant. `JobDispatcher`: which program runs a job."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from keyfence.jobs import runner
from keyfence.jobs.job import Job, JobKind
from keyfence.jobs.lease import JobStore
from keyfence.jobs.move.differences import ShadowDifferences
from keyfence.jobs.move.job import MoveJob
from keyfence.jobs.offboard.certificate import CertificateSigner
from keyfence.jobs.offboard.job import OffboardResources
from keyfence.jobs.rekey import RekeyJob
from keyfence.jobs.reshard.job import ReshardJob
from keyfence.jobs.runner import JobProgram
from keyfence.store.dynamodb.caller import CredentialSource
from keyfence.store.dynamodb.flow_control import BATCH_RETRIES
from keyfence.store.dynamodb.table_definition import SiloTables
from keyfence.store.pagination import MAX_PAGE_SIZE
from keyfence.store.scan import TableScan
from keyfence.store.table import Table
from keyfence.store.tables import Accounts, Tables
from keyfence.store.tenant_location import TenantLocation
from keyfence.tenancy.cache import TenantCache, location_of
from keyfence.tenancy.repository import TenantRepository
from keyfence.tenancy.suspensions import PublishSuspensions, SuspensionPublisher
from keyfence.tenancy.tenant import Placement, Tenant
from keyfence_iam.sts import SessionCache
from keyfence_iam.sts.session_spec import TableAccess as SessionPlacement
from keyfence_iam.tenant import TenantId

"""Nobody waits for an answer, and an hour's work should not end for a busy minute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MigratorAccess:
    """`tables` gives tenants by the migrator's role for them; `own` are the credentials that may scan."""

    tables: Tables
    own: CredentialSource
    silos: SiloTables
    shut: PublishSuspensions
    vending: SessionCache
    settle: timedelta
    """How long after a change of a tenant a server may still act on the tenant as it was before."""

    def close(self) -> None:
        self.tables.client.close()
        self.vending.close()

    @property
    def control(self) -> Table:
        return _patient(self.tables.for_control_plane(writes=True))

    @property
    def sweep(self) -> TableScan:
        """Charged to the control plane, whoever's items it meets."""
        return TableScan(replace(self.control.caller, credentials=self.own))

    def sweep_of(self, tenant: TenantId) -> TableScan:
        """Over the table of its own."""
        sweep = self.sweep
        return replace(sweep, caller=replace(sweep.caller, table=self.table_of(tenant, Placement.SILO)))

    def charged(self, accounts: Accounts) -> "MigratorAccess":
        return replace(self, tables=replace(self.tables, accounts=accounts))

    def tenant(self, tenant: TenantId) -> Table:
        """It goes by the keys that items have, not by where they would be put."""
        return self.at(TenantLocation(tenant=tenant))

    def at(self, location: TenantLocation) -> Table:
        return _patient(self.tables.for_tenant(location, writes=True))

    def placed(self, tenant: TenantId, placement: Placement) -> Table:
        """At the one table or at the other, wherever the tenant is."""
        return self.at(TenantLocation(tenant=tenant, read_from=SessionPlacement[placement]))

    def at_both(self, tenant: TenantId) -> Table:
        """Asks one table at a time, on credentials that reach both."""
        table = self.tenant(tenant)
        both = self.tables.credentials.for_tenant(tenant, writes=True, table_access=SessionPlacement.BOTH)
        return replace(table, caller=replace(table.caller, credentials=both))

    def table_of(self, tenant: TenantId, placement: Placement) -> str:
        return self.tables.table_of(tenant, SessionPlacement[placement])

    def migrations(self, *, rate: float) -> runner.JobResources:
        return runner.JobResources(records=JobStore(self.control), sweep=self.sweep, rate=rate)

    async def location(self, tenant: TenantId) -> TenantLocation:
        """Where a tenant's items are now, and for good: whoever migrates them sees to it."""
        return location_of(await TenantCache(self.control).get(tenant))

    @property
    def rekeying(self) -> RekeyJob:
        registry = TenantCache(self.control, clock=self.tables.clock)

        async def location(tenant: TenantId) -> TenantLocation:
            return registry.location(await registry.get(tenant))

        return RekeyJob(location=location, as_tenant=self.at, silos=self.in_silos, entities=self.tables.entities)

    async def in_silos(self) -> list[TenantId]:
        """Those whose items are in a table of their own, the newest first."""
        register, after, found = TenantRepository(self.control, ""), None, list[TenantId]()
        while True:
            page = await register.newest(status=None, first=MAX_PAGE_SIZE, after=after)
            found += [one.id for one in page.items if one.reads is Placement.SILO]
            if not page.has_next:
                return found
            after = page.edges[-1].cursor()

    def means(self, *, by: str, exports: Path, signer: CertificateSigner, rate: float) -> OffboardResources:
        control = self.control
        return OffboardResources(
            register=TenantRepository(control, by),
            suspensions=SuspensionPublisher(control, self.shut),
            sweep=self.sweep,
            as_tenant=self.placed,
            drop=self.silos.drop,
            exports=exports,
            signer=signer,
            settle=self.settle,
            rate=rate,
        )


def _patient(table: Table) -> Table:
    return replace(table, caller=replace(table.caller, retry_policy=BATCH_RETRIES))


def program_for(
    migration: Job, migrator: MigratorAccess, *, told: Callable[[Tenant], None] = lambda _: None
) -> JobProgram:
    settle = migrator.settle
    match migration.kind:
        case JobKind.KEYS:
            return migrator.rekeying
        case JobKind.RESHARD:
            register = TenantRepository(migrator.control, migration.by)
            return ReshardJob(
                register=register,
                location=migrator.location,
                as_tenant=migrator.at,
                settle=settle,
                told=told,
                entities=migrator.tables.entities,
            )
        case JobKind.MOVE:
            register = TenantRepository(migrator.control, migration.by)
            return MoveJob(
                register=register,
                differences=ShadowDifferences(migrator.control),
                silos=migrator.silos,
                table_of=migrator.table_of,
                at=migrator.placed,
                at_both=migrator.at_both,
                settle=settle,
                told=told,
            )
