"""`QuotaServer`: a server whose quotas and usage follow manual clocks."""

import itertools
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from starlette.applications import Starlette

from keyfence.admission.admission import Admission
from keyfence.admission.rate_limits import TenantLimitsCache
from keyfence.app.composition_root import Service
from keyfence.store.table_handles import Tables
from keyfence.tenancy.repository import TenantRepository
from keyfence.tenancy.tenant import Tenant
from keyfence.tenancy.tenant_status import TenantStatus
from keyfence.tenancy.tier_quotas import Tier
from keyfence.usage.hourly_usage import UsageRepository
from keyfence.usage.ledger import UsageFlusher, UsageLedger
from keyfence_iam.tenant import parse_tenant_id
from tests.fakes.clock import ManualClock
from tests.stack import UNLIMITED_QUOTAS, ApiClient, ServiceStack

_tenant_numbers = itertools.count(1)


@dataclass(kw_only=True)
class QuotaServer:
    """A server with its own quotas and usage, as a separate process has them. Manual clocks drive both."""

    stack: ServiceStack
    clock: ManualClock = field(default_factory=ManualClock)
    hour: ManualClock = field(
        default_factory=lambda: ManualClock(datetime(2026, 5, 31, 23, 30, tzinfo=UTC).timestamp())
    )
    servers: int = 1
    max_calls: int = 16
    admission: Admission = field(init=False)
    tables: Tables = field(init=False)
    application: Starlette = field(init=False)

    def __post_init__(self) -> None:
        tables = self.stack.tables
        limits = TenantLimitsCache(clock=self.clock, servers=self.servers, max_calls=self.max_calls)
        self.admission = Admission(limits=limits, ledger=UsageLedger(clock=self.hour), total_capacity=tables.meter)
        self.tables = replace(tables, accounts=self.admission.ledger.accounts)
        self.application = Service(replace(self.stack.connections, tables=tables), admission=self.admission).app

    async def new_tenant_client(self, name: str | None = None, *, stored_bytes: int = 0, **quotas: Any) -> ApiClient:
        """Registers a tenant with these quotas. Returns a client of this server with a token of its owner."""
        id, now = parse_tenant_id(name or f"limited-{next(_tenant_numbers)}"), datetime.now(UTC)
        tenant = Tenant(
            id=id,
            name=id.title(),
            tier=Tier.FREE,
            status=TenantStatus.ACTIVE,
            overrides=replace(UNLIMITED_QUOTAS, **quotas),
            stored_bytes=stored_bytes,
            created_at=now,
            updated_at=now,
        )
        await TenantRepository(self.stack.tables.for_control_plane(may_write=True), "the-tests").add(tenant)
        return self.client(self.stack.api_client(id))

    def client(self, client: ApiClient) -> ApiClient:
        """Returns the same caller as a client of this server."""
        return replace(client, application=self.application)

    @property
    def flusher(self) -> UsageFlusher:
        return UsageFlusher(self.admission.ledger, UsageRepository(self.tables.for_control_plane(may_write=True)))

    @property
    def usages(self) -> UsageRepository:
        return UsageRepository(self.stack.tables.for_control_plane(may_write=False))
