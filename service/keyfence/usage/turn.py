"""One request of a tenant: let in or refused, counted, and charged for every call it makes."""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field

import structlog

from keyfence.store.dynamodb.capacity import Meter, Spent
from keyfence.tenancy.model import Tenant
from keyfence.usage.allowance import Allowance, OverQuota
from keyfence.usage.allowances import Allowances
from keyfence.usage.ledger import Ledger
from keyfence.usage.model import UNKNOWN
from keyfence.usage.precedence import GIVES_WAY_SECONDS, Precedence, Way

log = structlog.get_logger(__name__)


@dataclass(slots=True, kw_only=True)
class Turn(Meter):
    """The meter of the request, which charges its tenant; `way` is where its calls wait."""

    tenant: Tenant
    allowance: Allowance
    turns: "Turns"
    way: Way
    operation: str = UNKNOWN

    def add(self, spent: Spent) -> None:
        Meter.add(self, spent)
        self.allowance.charge(spent, self.turns.now())
        self.turns.ledger.add(self.tenant.id, self.operation, spent)

    @asynccontextmanager
    async def taken(self, operation: str, *, writes: bool) -> AsyncIterator[None]:
        """Before the first call to DynamoDB, and until the last; raises OverQuota."""
        self.operation = operation
        try:
            self.allowance.admit_running()
            if writes:
                self.allowance.admit_write(self.turns.now())
        except OverQuota as refusal:
            self.turns.refused(self.tenant, operation, refusal)
            raise
        self.turns.ledger.line(self.tenant.id, operation).requests += 1
        async with self.allowance.running:
            with await self._place():
                yield

    async def _place(self) -> AbstractContextManager[None]:
        """Ahead of those who are over their quotas, or behind all others."""
        if not self.allowance.gives_way(self.turns.now()):
            return self.turns.precedence.ahead()
        self.way.patience = GIVES_WAY_SECONDS
        await self.way.give_way()
        return nullcontext()


@dataclass(frozen=True, slots=True, kw_only=True)
class Turns:
    """Gives requests their turns, by the quotas of their tenants."""

    allowances: Allowances
    ledger: Ledger
    total: Meter
    precedence: Precedence = field(default_factory=Precedence)
    refusals: Counter[str] = field(default_factory=Counter)
    """Requests by the quota that refused them."""

    def begin(self, tenant: Tenant) -> Turn:
        """Before the body of the request is read: asks nobody, and raises OverQuota."""
        allowance = self.allowances.of(tenant)
        try:
            allowance.admit(self.now())
        except OverQuota as refusal:
            self.refused(tenant, UNKNOWN, refusal)
            raise
        way = Way(allowance.calls, self.precedence)
        return Turn(tenant=tenant, allowance=allowance, turns=self, way=way, accounts=(self.total,))

    def refused(self, tenant: Tenant, operation: str, refusal: OverQuota) -> None:
        self.ledger.line(tenant.id, operation).refused += 1
        self.refusals[refusal.quota] += 1
        if self.allowances.of(tenant).refuse(self.now()):
            log.warning("tenant_over_quota", tenant=tenant.id, quota=refusal.quota)

    def now(self) -> float:
        return self.allowances.clock()
