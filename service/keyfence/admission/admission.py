"""`Admission`: lets a request in or refuses it, counts it, and charges its calls; priority between tenants."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass, field

import structlog

from keyfence.admission.tenant_limits import OverQuota, TenantLimits, TenantLimitsCache
from keyfence.store.dynamodb.capacity import CapacityMeter, ConsumedCapacity
from keyfence.store.dynamodb.flow_control import ConcurrencyLimit
from keyfence.tenancy.tenant import Tenant
from keyfence.usage.hourly_usage import UNKNOWN
from keyfence.usage.ledger import UsageLedger

GIVES_WAY_SECONDS = 0.025
"""For how long one request gives way in all: a tenant that is over its quota must still get its quota."""


@dataclass(slots=True)
class PriorityGate:
    """Counts the requests under way that nobody goes before."""

    _ahead: int = 0
    _behind: "set[asyncio.Future[None]]" = field(default_factory=set)

    @contextmanager
    def ahead(self) -> Iterator[None]:
        self._ahead += 1
        try:
            yield
        finally:
            self._ahead -= 1
            if not self._ahead:
                self._wave_on()

    async def yield_to_others(self, seconds: float) -> float:
        """While anybody is ahead, and no longer than that; for how long it was."""
        loop = asyncio.get_running_loop()
        begun = loop.time()
        until = begun + seconds
        while self._ahead and (left := until - loop.time()) > 0:
            turn: asyncio.Future[None] = loop.create_future()
            self._behind.add(turn)
            try:
                await asyncio.wait({turn}, timeout=left)
            finally:
                self._behind.discard(turn)
        return loop.time() - begun

    def _wave_on(self) -> None:
        for turn in self._behind:
            if not turn.done():
                turn.set_result(None)


@dataclass(slots=True)
class CallSlot:
    """The calls of one request: each waits for its tenant's lane. Where its tenant has to give way, it does so before a
    call goes out and before its answer is worked on."""

    lane: ConcurrencyLimit
    precedence: PriorityGate
    patience: float = 0.0

    async def yield_to_others(self) -> None:
        if self.patience:
            waited = await self.precedence.yield_to_others(self.patience)
            self.patience = max(0.0, self.patience - waited)

    async def __aenter__(self) -> None:
        await self.yield_to_others()
        await self.lane.__aenter__()

    async def __aexit__(self, *_: object) -> None:
        await self.lane.__aexit__()
        await self.yield_to_others()


log = structlog.get_logger(__name__)


@dataclass(slots=True, kw_only=True)
class AdmittedRequest(CapacityMeter):
    """The meter of the request, which charges its tenant; `way` is where its calls wait."""

    tenant: Tenant
    allowance: TenantLimits
    turns: "Admission"
    way: CallSlot
    operation: str = UNKNOWN

    def add(self, spent: ConsumedCapacity) -> None:
        CapacityMeter.add(self, spent)
        self.allowance.charge(spent, self.turns.now())
        self.turns.ledger.add(self.tenant.id, self.operation, spent)

    @asynccontextmanager
    async def taken(self, operation: str, *, writes: bool) -> AsyncIterator[None]:
        """Before the first call to DynamoDB, and until the last; raises OverQuota."""
        self.operation = operation
        try:
            self.allowance.admit_concurrent()
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
        if not self.allowance.has_low_priority(self.turns.now()):
            return self.turns.precedence.ahead()
        self.way.patience = GIVES_WAY_SECONDS
        await self.way.yield_to_others()
        return nullcontext()


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """Gives requests their turns, by the quotas of their tenants."""

    allowances: TenantLimitsCache
    ledger: UsageLedger
    total: CapacityMeter
    precedence: PriorityGate = field(default_factory=PriorityGate)
    refusals: Counter[str] = field(default_factory=Counter)
    """Requests by the quota that refused them."""

    def begin(self, tenant: Tenant) -> AdmittedRequest:
        """Before the body of the request is read: asks nobody, and raises OverQuota."""
        allowance = self.allowances.of(tenant)
        try:
            allowance.admit(self.now())
        except OverQuota as refusal:
            self.refused(tenant, UNKNOWN, refusal)
            raise
        way = CallSlot(allowance.calls, self.precedence)
        return AdmittedRequest(tenant=tenant, allowance=allowance, turns=self, way=way, accounts=(self.total,))

    def refused(self, tenant: Tenant, operation: str, refusal: OverQuota) -> None:
        self.ledger.line(tenant.id, operation).refused += 1
        self.refusals[refusal.quota] += 1
        if self.allowances.of(tenant).refuse(self.now()):
            log.warning("tenant_over_quota", tenant=tenant.id, quota=refusal.quota)

    def now(self) -> float:
        return self.allowances.clock()
