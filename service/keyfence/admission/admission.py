"""`Admission`: checks a tenant's quotas before a request runs, counts the request, and charges its calls."""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field

import structlog

from keyfence.admission.priority import MAX_YIELD_SECONDS, CallSlot, PriorityGate
from keyfence.admission.rate_limits import OverQuota, TenantLimits, TenantLimitsCache
from keyfence.auth.principal import Principal
from keyfence.settings import Settings
from keyfence.store.dynamodb.capacity import CapacityMeter, ConsumedCapacity
from keyfence.store.tenant_location import TenantLocation
from keyfence.tenancy.tenant import Tenant
from keyfence.usage.hourly_usage import UNKNOWN
from keyfence.usage.ledger import UsageLedger

log = structlog.get_logger(__name__)


@dataclass(slots=True, kw_only=True)
class AdmittedRequest(CapacityMeter):
    """A request that its tenant's request rate allows. It is also the meter that charges its calls to the tenant."""

    tenant: Tenant
    limits: TenantLimits
    admission: "Admission"
    slot: CallSlot
    operation: str = UNKNOWN

    def add(self, spent: ConsumedCapacity) -> None:
        CapacityMeter.add(self, spent)
        self.limits.charge(spent, self.admission.now())
        self.admission.ledger.add(self.tenant.id, self.operation, spent)

    @asynccontextmanager
    async def running(self, operation: str, *, writes: bool) -> AsyncIterator[None]:
        """Hold a place among the tenant's concurrent requests, from the first call to DynamoDB to the last.

        Raises OverQuota if too many requests wait already, or if the request writes and the write units are used up."""
        self.operation = operation
        try:
            self.limits.admit_concurrent()
            if writes:
                self.limits.admit_write(self.admission.now())
        except OverQuota as refusal:
            self.admission.refused(self.tenant, operation, refusal)
            raise
        self.admission.ledger.counter(self.tenant.id, operation).requests += 1
        async with self.limits.running:
            with await self._prioritized():
                yield

    async def _prioritized(self) -> AbstractContextManager[None]:
        if not self.limits.has_low_priority(self.admission.now()):
            return self.admission.priority.hold_priority()
        self.slot.yield_seconds = MAX_YIELD_SECONDS
        await self.slot.yield_to_others()
        return nullcontext()


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """Admits requests by the quotas of their tenants. `refusals` counts refused requests by quota."""

    limits: TenantLimitsCache
    ledger: UsageLedger
    total: CapacityMeter
    priority: PriorityGate = field(default_factory=PriorityGate)
    refusals: Counter[str] = field(default_factory=Counter)

    @classmethod
    def from_settings(cls, settings: Settings, total: CapacityMeter) -> "Admission":
        """One tenant uses at most half of the threads that call DynamoDB."""
        limits = TenantLimitsCache(servers=settings.server_count, max_calls=max(1, settings.data_threads // 2))
        return cls(limits=limits, ledger=UsageLedger(), total=total)

    def admit(self, tenant: Tenant) -> AdmittedRequest:
        """Take one request from the tenant's rate, before the body is read. Raises OverQuota; calls nothing."""
        limits = self.limits.of(tenant)
        try:
            limits.admit(self.now())
        except OverQuota as refusal:
            self.refused(tenant, UNKNOWN, refusal)
            raise
        slot = CallSlot(limits.calls, self.priority)
        return AdmittedRequest(tenant=tenant, limits=limits, admission=self, slot=slot, accounts=(self.total,))

    def refused(self, tenant: Tenant, operation: str, refusal: OverQuota) -> None:
        self.ledger.counter(tenant.id, operation).refused += 1
        self.refusals[refusal.quota] += 1
        if self.limits.of(tenant).refuse(self.now()):
            log.warning("tenant_over_quota", tenant=tenant.id, quota=refusal.quota)

    def now(self) -> float:
        return self.limits.clock()


@dataclass(frozen=True, slots=True)
class TenantRequest:
    """A request whose token is verified and whose tenant is active and within its request rate."""

    principal: Principal
    tenant: Tenant
    admitted: AdmittedRequest
    location: TenantLocation
