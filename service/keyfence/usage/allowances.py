"""The allowances of tenants, as many as this process remembers."""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice

from keyfence.tenancy.model import Tenant
from keyfence.usage.allowance import Allowance
from keyfence_iam.boundary import TenantId

LARGEST = 10_000
LOOKED_AT = 64


@dataclass(slots=True)
class Allowances:
    """Those of the tenants that were served last; each of `servers` processes gives out its part of every quota."""

    servers: int = 1
    width: int = 16
    clock: Callable[[], float] = time.monotonic
    largest: int = LARGEST
    _known: OrderedDict[TenantId, Allowance] = field(default_factory=OrderedDict)

    def __len__(self) -> int:
        return len(self._known)

    def of(self, tenant: Tenant) -> Allowance:
        known = self._known.get(tenant.id)
        if known is None:
            return self._made(tenant, self.clock())
        self._known.move_to_end(tenant.id)
        if known.tenant is not tenant:
            known.fit(tenant, self.servers, self.clock())
        return known

    def _made(self, tenant: Tenant, now: float) -> Allowance:
        self._make_room(now)
        made = self._known[tenant.id] = Allowance.whole(tenant, servers=self.servers, width=self.width, now=now)
        return made

    def _make_room(self, now: float) -> None:
        """Of those that were served longest ago the first goes with which nothing is forgotten, or else the first."""
        if len(self._known) < self.largest:
            return
        oldest = list(islice(self._known.items(), LOOKED_AT))
        del self._known[next((id for id, one in oldest if one.is_untouched(now)), oldest[0][0])]
