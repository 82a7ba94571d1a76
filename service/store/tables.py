"""Handles on the one table: for a tenant, or for the control plane, each with its own fence and credentials."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from iam.boundary import TenantId
from service.store.calls import FREE, Caller, CredentialSource, Lane
from service.store.client import Client
from service.store.cursor import Sealer
from service.store.home import Home
from service.store.keys import Fence
from service.store.meter import Account, Meter
from service.store.table import Table

Accounts = Callable[[TenantId | None], tuple[Account, ...]]


class Credentialed(Protocol):
    """Where the credentials of a fence come from."""

    def tenant(self, tenant: TenantId, *, writes: bool) -> CredentialSource: ...
    def control(self, *, writes: bool) -> CredentialSource: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """Everything that handles share."""

    client: Client
    name: str
    sealer: Sealer
    credentials: Credentialed
    on_foreign: Callable[[], None] = lambda: None
    on_denied: Callable[[], None] = lambda: None
    meter: Meter = field(default_factory=Meter)
    """What all handles together have asked of DynamoDB."""
    accounts: Accounts = lambda _: ()
    """Whom a tenant's calls, or the control plane's own, are charged to where no request is."""
    clock: Callable[[], float] = time.monotonic
    """By which homes can be relied on."""

    def tenant(self, home: Home, *, writes: bool, meter: Meter | None = None, lane: Lane | None = None) -> Table:
        """A request that writes also reads consistently, since it decides on what it reads."""
        if home.tenant is None:
            raise TypeError("this is no tenant's home")
        credentials = self.credentials.tenant(home.tenant, writes=writes)
        return Table(
            fence=Fence.around(home.tenant),
            caller=self._caller(credentials, meter or self._meter(home.tenant), home, lane),
            sealer=self.sealer,
            consistent=writes,
            on_foreign=self.on_foreign,
        )

    def control(self, *, writes: bool) -> Table:
        """Read consistently: how old what servers know of tenants may be is a promise."""
        caller = self._caller(self.credentials.control(writes=writes), self._meter(None), Home())
        return Table(fence=Fence.control(), caller=caller, sealer=self.sealer, consistent=True)

    def _meter(self, tenant: TenantId | None) -> Meter:
        return Meter(accounts=(self.meter, *self.accounts(tenant)))

    def _caller(self, credentials: CredentialSource, meter: Meter, home: Home, lane: Lane | None = None) -> Caller:
        return Caller(
            client=self.client,
            table=self.name,
            credentials=credentials,
            meter=meter,
            on_denied=self.on_denied,
            lane=lane or FREE,
            home=home,
            clock=self.clock,
        )
