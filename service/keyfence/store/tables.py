"""Handles on the one table: for a tenant, or for the control plane, each with its own fence and credentials."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Protocol

from keyfence.store.cursor import CursorCodec
from keyfence.store.dual_write.caller import DualWriteCaller, OnDifference, ignore_difference
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
from keyfence.store.entities import Entities
from keyfence.store.keys import Fence
from keyfence.store.table import Table
from keyfence.store.tenant_location import TenantLocation
from keyfence_iam.deployment import silo_table
from keyfence_iam.sts.session_spec import TableAccess
from keyfence_iam.tenant import TenantId

Accounts = Callable[[TenantId | None], tuple[CapacityAccount, ...]]


class CredentialProvider(Protocol):
    """Where the credentials of a fence come from."""

    def for_tenant(self, tenant: TenantId, *, writes: bool, table_access: TableAccess) -> CredentialSource: ...
    def for_control_plane(self, *, writes: bool) -> CredentialSource: ...


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
    on_difference: OnDifference = ignore_difference
    """Hears of the tenant and the operation where the two tables of a move do not say the same."""
    observer: CallObserver = NO_OBSERVER
    """Is shown the calls of all handles."""

    def for_tenant(
        self,
        location: TenantLocation,
        *,
        writes: bool,
        meter: CapacityMeter | None = None,
        call_limit: CallLimit | None = None,
    ) -> Table:
        """A request that writes also reads consistently, since it decides on what it reads."""
        if location.tenant is None:
            raise TypeError("this is no tenant's home")
        credentials = self.credentials.for_tenant(location.tenant, writes=writes, table_access=location.table_access)
        return Table(
            fence=Fence.for_tenant(location.tenant),
            caller=self._placed(
                location.tenant, self._caller(credentials, meter or self._meter(location.tenant), location, call_limit)
            ),
            cursors=self.cursors,
            consistent=writes,
            on_foreign_item=self.on_foreign_item,
        )

    def for_control_plane(self, *, writes: bool) -> Table:
        """Read consistently: how old what servers know of tenants may be is a promise."""
        caller = self._caller(self.credentials.for_control_plane(writes=writes), self._meter(None), TenantLocation())
        return Table(fence=Fence.for_control_plane(), caller=caller, cursors=self.cursors, consistent=True)

    def table_of(self, tenant: TenantId, placement: TableAccess) -> str:
        if placement is TableAccess.BOTH:
            raise TypeError("that is two tables")
        return self.name if placement is TableAccess.POOL else silo_table(self.name, tenant)

    def _placed(self, tenant: TenantId, caller: DynamoDbCaller) -> DynamoDbCaller:
        """At the table that its home says, or at both while the tenant moves."""
        placed, also = (
            replace(caller, table=self.table_of(tenant, caller.location.read_from)),
            caller.location.also_write_to,
        )
        if also is None:
            return placed
        shared = {one.name: getattr(placed, one.name) for one in fields(placed)}
        return DualWriteCaller(**shared, second_table=self.table_of(tenant, also), on_difference=self.on_difference)

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
