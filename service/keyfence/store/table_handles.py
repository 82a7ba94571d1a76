"""`Tables`: makes the table handle of a tenant or of the control plane, each with its own fence and credentials."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Protocol

from keyfence.store.cursor import CursorCodec
from keyfence.store.dual_write.dual_write_caller import DualWriteCaller, OnDifference, ignore_difference
from keyfence.store.dynamodb.caller import (
    NO_OBSERVER,
    UNLIMITED,
    CallLimit,
    CallObserver,
    CredentialSource,
    DynamoDbCaller,
)
from keyfence.store.dynamodb.capacity import CapacityAccount, CapacityMeter
from keyfence.store.dynamodb.client import DynamoDb
from keyfence.store.entity_registry import EntityRegistry
from keyfence.store.keys import Fence
from keyfence.store.table import Table
from keyfence.store.tenant_location import TenantLocation
from keyfence_iam.deployment import silo_table
from keyfence_iam.sts.session_spec import TableAccess
from keyfence_iam.tenant import TenantId

Accounts = Callable[[TenantId | None], tuple[CapacityAccount, ...]]


class CredentialProvider(Protocol):
    """Returns sources of credentials that are limited to one fence."""

    def for_tenant(self, tenant: TenantId, *, writes: bool, table_access: TableAccess) -> CredentialSource: ...
    def for_control_plane(self, *, writes: bool) -> CredentialSource: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """Makes table handles, and has what all of them share."""

    client: DynamoDb
    name: str
    cursors: CursorCodec
    credentials: CredentialProvider
    entities: EntityRegistry = field(default_factory=EntityRegistry)
    """Everything that the table stores."""
    on_foreign_item: Callable[[], None] = lambda: None
    on_denied: Callable[[], None] = lambda: None
    meter: CapacityMeter = field(default_factory=CapacityMeter)
    """Counts the calls of all handles."""
    accounts: Accounts = lambda _: ()
    """Returns who is charged for calls outside requests: of a tenant, or of the control plane (None)."""
    clock: Callable[[], float] = time.monotonic
    """The clock of `TenantLocation.valid_until`."""
    on_difference: OnDifference = ignore_difference
    """Called with the tenant and the operation if the two tables of a moving tenant return different answers."""
    observer: CallObserver = NO_OBSERVER
    """Hears of the calls of all handles."""

    def for_tenant(
        self,
        location: TenantLocation,
        *,
        writes: bool,
        meter: CapacityMeter | None = None,
        call_limit: CallLimit | None = None,
    ) -> Table:
        """Returns the handle of a tenant. A handle that writes also reads consistently, because its writes depend on
        its reads."""
        tenant = location.tenant
        if tenant is None:
            raise TypeError("the location has no tenant; use for_control_plane")
        credentials = self.credentials.for_tenant(tenant, writes=writes, table_access=location.table_access)
        caller = self._caller(credentials, meter or self._meter(tenant), location, call_limit)
        return Table(
            fence=Fence.for_tenant(tenant),
            caller=self._on_tables_of(tenant, caller),
            cursors=self.cursors,
            consistent=writes,
            on_foreign_item=self.on_foreign_item,
        )

    def for_control_plane(self, *, writes: bool) -> Table:
        """Returns the handle of the control plane. It reads consistently, because servers rely on a maximum age of what
        they know about tenants."""
        credentials = self.credentials.for_control_plane(writes=writes)
        caller = self._caller(credentials, self._meter(None), TenantLocation())
        return Table(fence=Fence.for_control_plane(), caller=caller, cursors=self.cursors, consistent=True)

    def table_name_of(self, tenant: TenantId, table_access: TableAccess) -> str:
        """Returns the name of the pool table or of the tenant's silo table."""
        if table_access is TableAccess.BOTH:
            raise TypeError("BOTH is two tables; ask for POOL or SILO")
        return self.name if table_access is TableAccess.POOL else silo_table(self.name, tenant)

    def _on_tables_of(self, tenant: TenantId, caller: DynamoDbCaller) -> DynamoDbCaller:
        """Returns the caller on the table that the location names, or on both tables while the tenant moves."""
        location = caller.location
        single = replace(caller, table=self.table_name_of(tenant, location.read_from))
        if location.also_write_to is None:
            return single
        shared = {each.name: getattr(single, each.name) for each in fields(single)}
        second_table = self.table_name_of(tenant, location.also_write_to)
        return DualWriteCaller(**shared, second_table=second_table, on_difference=self.on_difference)

    def _meter(self, tenant: TenantId | None) -> CapacityMeter:
        return CapacityMeter(accounts=(self.meter, *self.accounts(tenant)))

    def _caller(
        self,
        credentials: CredentialSource,
        meter: CapacityMeter,
        location: TenantLocation,
        call_limit: CallLimit | None = None,
    ) -> DynamoDbCaller:
        return DynamoDbCaller(
            client=self.client,
            table=self.name,
            credentials=credentials,
            meter=meter,
            on_denied=self.on_denied,
            call_limit=call_limit or UNLIMITED,
            location=location,
            clock=self.clock,
            observer=self.observer,
        )
