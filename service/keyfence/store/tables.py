"""Handles on the one table: for a tenant, or for the control plane, each with its own fence and credentials."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Protocol

from keyfence.store.cursor import CursorCodec
from keyfence.store.dual_write.caller import DualWriteCaller, OnDifference, unheard
from keyfence.store.dynamodb.caller import FREE, NOBODY, CallLimit, CallObserver, CredentialSource, DynamoDbCaller
from keyfence.store.dynamodb.capacity import CapacityAccount, CapacityMeter
from keyfence.store.dynamodb.client import DynamoDb
from keyfence.store.entities import Entities
from keyfence.store.keys import Fence
from keyfence.store.location import TenantLocation
from keyfence.store.table import Table
from keyfence_iam.deployment import silo_table
from keyfence_iam.sts.session_spec import TableAccess
from keyfence_iam.tenant import TenantId

Accounts = Callable[[TenantId | None], tuple[CapacityAccount, ...]]


class CredentialProvider(Protocol):
    """Where the credentials of a fence come from."""

    def tenant(self, tenant: TenantId, *, writes: bool, placement: TableAccess) -> CredentialSource: ...
    def control(self, *, writes: bool) -> CredentialSource: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """Everything that handles share."""

    client: DynamoDb
    name: str
    cursors: CursorCodec
    credentials: CredentialProvider
    entities: Entities = field(default_factory=Entities)
    """All that the table stores."""
    on_foreign_item: Callable[[], None] = lambda: None
    on_denied: Callable[[], None] = lambda: None
    meter: CapacityMeter = field(default_factory=CapacityMeter)
    """What all handles together have asked of DynamoDB."""
    accounts: Accounts = lambda _: ()
    """Whom a tenant's calls, or the control plane's own, are charged to where no request is."""
    clock: Callable[[], float] = time.monotonic
    """By which homes can be relied on."""
    on_difference: OnDifference = unheard
    """Hears of the tenant and the operation where the two tables of a move do not say the same."""
    watcher: CallObserver = NOBODY
    """Is shown the calls of all handles."""

    def tenant(
        self, home: TenantLocation, *, writes: bool, meter: CapacityMeter | None = None, lane: CallLimit | None = None
    ) -> Table:
        """A request that writes also reads consistently, since it decides on what it reads."""
        if home.tenant is None:
            raise TypeError("this is no tenant's home")
        credentials = self.credentials.tenant(home.tenant, writes=writes, placement=home.table_access)
        return Table(
            fence=Fence.for_tenant(home.tenant),
            caller=self._placed(home.tenant, self._caller(credentials, meter or self._meter(home.tenant), home, lane)),
            cursors=self.cursors,
            consistent=writes,
            on_foreign_item=self.on_foreign_item,
        )

    def control(self, *, writes: bool) -> Table:
        """Read consistently: how old what servers know of tenants may be is a promise."""
        caller = self._caller(self.credentials.control(writes=writes), self._meter(None), TenantLocation())
        return Table(fence=Fence.for_control_plane(), caller=caller, cursors=self.cursors, consistent=True)

    def table_of(self, tenant: TenantId, placement: TableAccess) -> str:
        if placement is TableAccess.BOTH:
            raise TypeError("that is two tables")
        return self.name if placement is TableAccess.POOL else silo_table(self.name, tenant)

    def _placed(self, tenant: TenantId, caller: DynamoDbCaller) -> DynamoDbCaller:
        """At the table that its home says, or at both while the tenant moves."""
        placed, also = replace(caller, table=self.table_of(tenant, caller.home.read_from)), caller.home.also_write_to
        if also is None:
            return placed
        shared = {one.name: getattr(placed, one.name) for one in fields(placed)}
        return DualWriteCaller(**shared, also=self.table_of(tenant, also), on_difference=self.on_difference)

    def _meter(self, tenant: TenantId | None) -> CapacityMeter:
        return CapacityMeter(accounts=(self.meter, *self.accounts(tenant)))

    def _caller(
        self, credentials: CredentialSource, meter: CapacityMeter, home: TenantLocation, lane: CallLimit | None = None
    ) -> DynamoDbCaller:
        return DynamoDbCaller(
            client=self.client,
            table=self.name,
            credentials=credentials,
            meter=meter,
            on_denied=self.on_denied,
            lane=lane or FREE,
            home=home,
            clock=self.clock,
            watcher=self.watcher,
        )
