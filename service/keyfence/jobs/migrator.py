"""`MigratorAccess`: scan as migrator, write as tenant. `JobDispatcher`: which program runs a job."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from keyfence.jobs import runner
from keyfence.jobs.job import Kind, Migration
from keyfence.jobs.lease import Records
from keyfence.jobs.move.differences import Differences
from keyfence.jobs.move.job import Moving
from keyfence.jobs.offboard.certificate import Signer
from keyfence.jobs.offboard.job import Means
from keyfence.jobs.rekey import Rekeying
from keyfence.jobs.reshard.job import Resharding
from keyfence.jobs.runner import Program
from keyfence.store.dynamodb.caller import CredentialSource, Patience
from keyfence.store.dynamodb.table_definition import Silos
from keyfence.store.location import Home
from keyfence.store.pagination import LARGEST
from keyfence.store.scan import Sweep
from keyfence.store.table import Table
from keyfence.store.tables import Accounts, Tables
from keyfence.tenancy.cache import Registry, home_of
from keyfence.tenancy.repository import Register
from keyfence.tenancy.suspensions import Shut, Suspensions
from keyfence.tenancy.tenant import Placement, Tenant
from keyfence_iam.sts import Vending
from keyfence_iam.sts.session_spec import Placement as SessionPlacement
from keyfence_iam.tenant import TenantId

PATIENCE = Patience(attempts=12, first_pause=0.05, longest_pause=5.0)
"""Nobody waits for an answer, and an hour's work should not end for a busy minute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Migrator:
    """`tables` gives tenants by the migrator's role for them; `own` are the credentials that may scan."""

    tables: Tables
    own: CredentialSource
    silos: Silos
    shut: Shut
    vending: Vending

    def close(self) -> None:
        self.tables.client.close()
        self.vending.close()

    @property
    def control(self) -> Table:
        return _patient(self.tables.control(writes=True))

    @property
    def sweep(self) -> Sweep:
        """Charged to the control plane, whoever's items it meets."""
        return Sweep(replace(self.control.caller, credentials=self.own))

    def sweep_of(self, tenant: TenantId) -> Sweep:
        """Over the table of its own."""
        sweep = self.sweep
        return replace(sweep, caller=replace(sweep.caller, table=self.table_of(tenant, Placement.SILO)))

    def charged(self, accounts: Accounts) -> "Migrator":
        return replace(self, tables=replace(self.tables, accounts=accounts))

    def tenant(self, tenant: TenantId) -> Table:
        """It goes by the keys that items have, not by where they would be put."""
        return self.at(Home(tenant=tenant))

    def at(self, home: Home) -> Table:
        return _patient(self.tables.tenant(home, writes=True))

    def placed(self, tenant: TenantId, placement: Placement) -> Table:
        """At the one table or at the other, wherever the tenant is."""
        return self.at(Home(tenant=tenant, reads=SessionPlacement[placement]))

    def at_both(self, tenant: TenantId) -> Table:
        """Asks one table at a time, on credentials that reach both."""
        table = self.tenant(tenant)
        both = self.tables.credentials.tenant(tenant, writes=True, placement=SessionPlacement.BOTH)
        return replace(table, caller=replace(table.caller, credentials=both))

    def table_of(self, tenant: TenantId, placement: Placement) -> str:
        return self.tables.table_of(tenant, SessionPlacement[placement])

    def migrations(self, *, rate: float) -> runner.Means:
        return runner.Means(records=Records(self.control), sweep=self.sweep, rate=rate)

    async def home(self, tenant: TenantId) -> Home:
        """Where a tenant's items are now, and for good: whoever migrates them sees to it."""
        return home_of(await Registry(self.control).get(tenant))

    @property
    def rekeying(self) -> Rekeying:
        registry = Registry(self.control, clock=self.tables.clock)

        async def home(tenant: TenantId) -> Home:
            return registry.home(await registry.get(tenant))

        return Rekeying(home=home, as_tenant=self.at, silos=self.in_silos)

    async def in_silos(self) -> list[TenantId]:
        """Those whose items are in a table of their own, the newest first."""
        register, after, found = Register(self.control, ""), None, list[TenantId]()
        while True:
            page = await register.newest(status=None, first=LARGEST, after=after)
            found += [one.id for one in page.items if one.reads is Placement.SILO]
            if not page.has_next:
                return found
            after = page.edges[-1].cursor()

    def means(self, *, by: str, exports: Path, signer: Signer, settle: float, rate: float) -> Means:
        control = self.control
        return Means(
            register=Register(control, by),
            suspensions=Suspensions(control, self.shut),
            sweep=self.sweep,
            as_tenant=self.placed,
            drop=self.silos.drop,
            exports=exports,
            signer=signer,
            settle=timedelta(seconds=settle),
            rate=rate,
        )


def _patient(table: Table) -> Table:
    return replace(table, caller=replace(table.caller, patience=PATIENCE))


def program_of(
    migration: Migration, migrator: Migrator, *, settle: timedelta, told: Callable[[Tenant], None] = lambda _: None
) -> Program:
    """`settle` is how long after a change of the register somebody may still act on what it said."""
    match migration.kind:
        case Kind.KEYS:
            return migrator.rekeying
        case Kind.RESHARD:
            register = Register(migrator.control, migration.by)
            return Resharding(register=register, home=migrator.home, as_tenant=migrator.at, settle=settle, told=told)
        case Kind.MOVE:
            register = Register(migrator.control, migration.by)
            return Moving(
                register=register,
                differences=Differences(migrator.control),
                silos=migrator.silos,
                table_of=migrator.table_of,
                at=migrator.placed,
                at_both=migrator.at_both,
                settle=settle,
                told=told,
            )
