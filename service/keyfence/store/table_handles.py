"""`Tables`: makes table handles (`Table`) for tenants and for the control plane, with their fences and credentials."""

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
from keyfence.store.foreign_items import ForeignItemLog, OnForeignItems
from keyfence.store.index_tags import IndexTags
from keyfence.store.keys import Fence
from keyfence.store.table import Table
from keyfence.store.tenant_location import TenantLocation
from keyfence_iam.deployment import silo_table
from keyfence_iam.sts.session_spec import TableAccess
from keyfence_iam.tenant import TenantId

AccountLookup = Callable[[TenantId | None], tuple[CapacityAccount, ...]]
"""A function that returns the accounts to which a tenant's calls are charged. None stands for the control plane."""


class CredentialProvider(Protocol):
    """Gives out sources of credentials. The credentials of each source are limited to one fence."""

    def for_tenant(self, tenant: TenantId, *, may_write: bool, table_access: TableAccess) -> CredentialSource: ...
    def for_control_plane(self, *, may_write: bool) -> CredentialSource: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """Makes table handles. All handles share the fields of this object."""

    client: DynamoDb
    name: str
    """The name of the pool table. The names of silo tables begin with this name."""
    cursors: CursorCodec
    index_tags: IndexTags
    credentials: CredentialProvider
    entities: EntityRegistry = field(default_factory=EntityRegistry)
    on_foreign_items: OnForeignItems = field(default_factory=ForeignItemLog)
    on_denied: Callable[[], None] = lambda: None
    """Called when DynamoDB answers AccessDeniedException."""
    meter: CapacityMeter = field(default_factory=CapacityMeter)
    """Counts the calls of all handles that get no meter as an argument. The meters of requests charge this meter
    too."""
    accounts: AccountLookup = lambda _: ()
    """Finds the accounts of calls outside requests. Requests bring their own meter."""
    clock: Callable[[], float] = time.monotonic
    """The clock of `TenantLocation.valid_until`, in seconds."""
    on_difference: OnDifference = ignore_difference
    """Called with the tenant and the operation if the two tables of a moving tenant return different answers."""
    observer: CallObserver = NO_OBSERVER
    """Receives the results of the calls of all handles."""

    def for_tenant(
        self,
        location: TenantLocation,
        *,
        may_write: bool,
        meter: CapacityMeter | None = None,
        call_limit: CallLimit | None = None,
    ) -> Table:
        """Returns a handle for the tables of a tenant.

        A handle that writes reads consistently, because its writes depend on the items that it read. Raises TypeError
        for a location without a tenant."""
        tenant = location.tenant
        if tenant is None:
            raise TypeError("the location has no tenant; use for_control_plane")
        credentials = self.credentials.for_tenant(tenant, may_write=may_write, table_access=location.table_access)
        caller = self._new_caller(credentials, meter or self._new_meter(tenant), location, call_limit)
        return Table(
            fence=self.fence_of(tenant),
            caller=self._select_tables(tenant, caller),
            cursors=self.cursors,
            consistent=may_write,
            on_foreign_items=self.on_foreign_items,
        )

    def for_control_plane(self, *, may_write: bool) -> Table:
        """Returns a handle for the data of the control plane.

        It reads consistently: servers must learn of a change to a tenant within a known time."""
        credentials = self.credentials.for_control_plane(may_write=may_write)
        caller = self._new_caller(credentials, self._new_meter(None), TenantLocation())
        return Table(
            fence=Fence.for_control_plane(),
            caller=caller,
            cursors=self.cursors,
            consistent=True,
            on_foreign_items=self.on_foreign_items,
        )

    def fence_of(self, tenant: TenantId) -> Fence:
        return Fence.for_tenant(tenant, self.index_tags.of(tenant))

    def table_name_of(self, tenant: TenantId, table_access: TableAccess) -> str:
        """Returns the name of the pool table or of the tenant's silo table. Raises TypeError for BOTH."""
        if table_access is TableAccess.BOTH:
            raise TypeError("BOTH stands for two tables; pass POOL or SILO")
        return self.name if table_access is TableAccess.POOL else silo_table(self.name, tenant)

    def _select_tables(self, tenant: TenantId, caller: DynamoDbCaller) -> DynamoDbCaller:
        """Returns a caller for the table of `caller.location`, or for both tables while the tenant moves. All other
        fields are those of `caller`."""
        location = caller.location
        single_table_caller = replace(caller, table=self.table_name_of(tenant, location.read_from))
        if location.also_write_to is None:
            return single_table_caller
        shared_fields = {
            caller_field.name: getattr(single_table_caller, caller_field.name) for caller_field in fields(caller)
        }
        second_table = self.table_name_of(tenant, location.also_write_to)
        return DualWriteCaller(**shared_fields, second_table=second_table, on_difference=self.on_difference)

    def _new_meter(self, tenant: TenantId | None) -> CapacityMeter:
        return CapacityMeter(accounts=(self.meter, *self.accounts(tenant)))

    def _new_caller(
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
