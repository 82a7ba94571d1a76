"""What the migrator works with: it scans as itself, and changes items as the tenant whose they are."""

from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from keyfence.migrations import means
from keyfence.migrations.keys import Rekeying
from keyfence.migrations.records import Records
from keyfence.operations.offboarding.signer import Signer
from keyfence.operations.offboarding.worker import Means
from keyfence.store.calls import CredentialSource, Patience
from keyfence.store.location import Home
from keyfence.store.pagination import LARGEST
from keyfence.store.silos import Silos
from keyfence.store.sweep import Sweep
from keyfence.store.table import Table
from keyfence.store.tables import Accounts, Tables
from keyfence.tenancy.home import home_of
from keyfence.tenancy.move import Placement
from keyfence.tenancy.registry import Registry
from keyfence.tenancy.repository import Register
from keyfence.tenancy.suspensions import Shut, Suspensions
from keyfence_iam.boundary import TenantId
from keyfence_iam.vending import Vending
from keyfence_iam.vending.wanted import Placement as SessionPlacement

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

    def migrations(self, *, rate: float) -> means.Means:
        return means.Means(records=Records(self.control), sweep=self.sweep, rate=rate)

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
