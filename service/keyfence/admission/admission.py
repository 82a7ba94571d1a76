"""`Admission`: refuses a request whose tenant is over its quota, counts requests, and charges their DynamoDB calls."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field

import structlog

from keyfence.admission.priority import MAX_YIELD_SECONDS, RequestCallLimit, RequestPriority
from keyfence.admission.rate_limits import FREE_CPU_MS, MAX_CPU_STEP_MS, OverQuota, TenantLimits, TenantLimitsCache
from keyfence.auth.principal import Principal
from keyfence.settings import Settings
from keyfence.store.dynamodb.capacity import CapacityMeter, ConsumedCapacity
from keyfence.store.tenant_location import TenantLocation
from keyfence.tenancy.tenant import Tenant
from keyfence.usage.hourly_usage import UNKNOWN_OPERATION
from keyfence.usage.ledger import UsageLedger

log = structlog.get_logger(__name__)


@dataclass(slots=True, kw_only=True)
class AdmittedRequest(CapacityMeter):
    """A request that the request rate of its tenant allows.

    It is also the meter of its DynamoDB calls: `add` charges the capacity of a call to the quotas and the usage of the
    tenant, and `refund` takes a part of it back."""

    tenant: Tenant
    limits: TenantLimits
    admission: "Admission"
    call_limit: RequestCallLimit
    operation: str = UNKNOWN_OPERATION
    free_cpu_ms: float = FREE_CPU_MS
    """CPU time that the request may still use without a charge."""

    def add(self, consumed: ConsumedCapacity) -> None:
        CapacityMeter.add(self, consumed)
        self._charge(consumed)

    def refund(self, read_units: float) -> None:
        CapacityMeter.refund(self, read_units)
        self._charge(ConsumedCapacity("Query", -read_units))

    def _charge(self, consumed: ConsumedCapacity) -> None:
        self.limits.charge(consumed, self.admission.now())
        self.admission.ledger.add(self.tenant.id, self.operation, consumed)

    def charge_cpu(self, seconds: float) -> None:
        """Charges the CPU time of one step to the quota of the tenant, except the first millisecond of the request."""
        cpu_ms = min(seconds * 1000, MAX_CPU_STEP_MS)
        free_ms = min(cpu_ms, self.free_cpu_ms)
        self.free_cpu_ms -= free_ms
        if cpu_ms > free_ms:
            self.limits.cpu_ms.take(cpu_ms - free_ms, self.admission.now())

    @asynccontextmanager
    async def admit_new_document(self) -> AsyncIterator[None]:
        """Waits until no other new document of the tenant is being parsed. The body of the `async with` statement
        parses and validates a new document, and calls `yield_to_others` between these steps.

        Raises OverQuota if the tenant has used up its CPU time, or sent too many new documents."""
        async with self.limits.new_document_parsing:
            try:
                self.limits.take_new_document(self.admission.now())
            except OverQuota as refusal:
                self.admission.count_refusal(self.tenant, UNKNOWN_OPERATION, refusal)
                raise
            await self.yield_to_others()
            yield

    async def yield_to_others(self) -> None:
        """Waits while requests with priority run, at most MAX_YIELD_SECONDS."""
        # A request that has just arrived needs two turns of the event loop until it is counted as a running request.
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await self.admission.priority.yield_to_others(MAX_YIELD_SECONDS)

    @asynccontextmanager
    async def run(self, operation: str, *, may_write: bool) -> AsyncIterator[None]:
        """Counts this request as running while the body of the `async with` statement is executed. Waits first if too
        many requests of the tenant are running.

        Raises OverQuota if too many requests of the tenant already wait, or if the request writes and the write units
        of the tenant are used up."""
        self.operation = operation
        now = self.admission.now()
        try:
            self.limits.require_waiting_room()
            if may_write:
                self.limits.require_write_units(now)
        except OverQuota as refusal:
            self.admission.count_refusal(self.tenant, operation, refusal)
            raise
        self.admission.ledger.counter(self.tenant.id, operation).requests += 1
        async with self.limits.running_requests:
            with await self._await_priority():
                yield

    async def _await_priority(self) -> AbstractContextManager[None]:
        """Returns the context to run the request in. A request with low priority first lets other requests run."""
        if not self.limits.has_low_priority(self.admission.now()):
            return self.admission.priority.hold_priority()
        self.call_limit.yield_seconds = MAX_YIELD_SECONDS
        await self.call_limit.yield_to_others()
        return nullcontext()


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """Admits requests that the quotas of their tenants allow, and refuses all others."""

    limits: TenantLimitsCache
    ledger: UsageLedger
    total_capacity: CapacityMeter
    """Counts the calls of all tenants together."""
    priority: RequestPriority = field(default_factory=RequestPriority)
    refusals: Counter[str] = field(default_factory=Counter)
    """The number of refused requests, by the name of the quota."""

    @classmethod
    def from_settings(cls, settings: Settings, total_capacity: CapacityMeter) -> "Admission":
        max_calls = max(1, settings.data_connections // 2)  # so that one tenant never occupies all connections
        limits = TenantLimitsCache(servers=settings.server_count, max_calls=max_calls)
        return cls(limits=limits, ledger=UsageLedger(), total_capacity=total_capacity)

    def admit(self, tenant: Tenant) -> AdmittedRequest:
        """Takes one request from the tenant's request rate. Raises OverQuota if the rate is used up.

        The method makes no DynamoDB call and does not need the body of the request, so a refusal is cheap."""
        now = self.now()
        limits = self.limits.of(tenant)
        try:
            limits.admit(now)
        except OverQuota as refusal:
            self.count_refusal(tenant, UNKNOWN_OPERATION, refusal)
            raise
        return AdmittedRequest(
            tenant=tenant,
            limits=limits,
            admission=self,
            call_limit=RequestCallLimit(limits.running_calls, self.priority),
            accounts=(self.total_capacity,),
        )

    def count_refusal(self, tenant: Tenant, operation: str, refusal: OverQuota) -> None:
        self.ledger.counter(tenant.id, operation).refused += 1
        self.refusals[refusal.quota] += 1
        if self.limits.of(tenant).note_refusal(self.now()):
            log.warning("tenant_over_quota", tenant=tenant.id, quota=refusal.quota)

    def now(self) -> float:
        """Returns the time of the clock that the limits use."""
        return self.limits.clock()


@dataclass(frozen=True, slots=True)
class TenantRequest:
    """A request whose token is verified and whose tenant is active and within its request rate."""

    principal: Principal
    tenant: Tenant
    admitted: AdmittedRequest
    location: TenantLocation
