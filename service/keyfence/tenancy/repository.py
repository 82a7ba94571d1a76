"""`TenantRepository`: operators and jobs read and change tenants. Every change is stored with an event."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from keyfence.errors import BadInput, Conflict, NotFound
from keyfence.store import timestamps
from keyfence.store.expressions import absent
from keyfence.store.keys import ValueRange
from keyfence.store.pagination import MAX_PAGE_SIZE, Edge, Page
from keyfence.store.table import Table
from keyfence.store.time_buckets import page_over_time_buckets
from keyfence.store.writes import Write, put, require_version, retry_if_stale, update_model
from keyfence.tenancy.access_patterns import (
    events,
    events_of_tenant,
    issuer_by_digest,
    issuers,
    newest_tenants,
    tenant_by_id,
    tenants,
    tenants_by_status,
)
from keyfence.tenancy.issuer_registration import TenantIssuer, issuer_digest
from keyfence.tenancy.tenant import Tenant, TenantSummary
from keyfence.tenancy.tenant_events import TenantEvent, TenantEventKind, new_event
from keyfence.tenancy.tenant_status import TenantStatus
from keyfence_iam.tenant import InvalidTenantId, TenantId
from keyfence_iam.tenant import parse_tenant_id as parse_id

FIRST_MONTH = datetime(2026, 1, 1, tzinfo=UTC)
"""No tenant and no job is older than this month. Lists of tenants and of jobs end here."""

NO_SUCH_TENANT = partial(NotFound, "no such tenant")
ID_TAKEN = partial(Conflict, "another tenant has this id", field="id")
ISSUER_TAKEN = partial(Conflict, "another tenant has this issuer", field="issuer")

EventDetail = Mapping[str, object]
MoreWrites = Callable[[], Awaitable[Sequence[Write[Any]]]]
"""A function that returns further writes for the transaction that changes a tenant."""


async def _no_more_writes() -> Sequence[Write[Any]]:
    return ()


def parse_tenant_id(text: str, field: str = "id") -> TenantId:
    """Raises BadInput, which names the input field, if the text is not a tenant id."""
    try:
        return parse_id(text)
    except InvalidTenantId as error:
        raise BadInput(f"{field}: {error}", field=field) from None


@dataclass(frozen=True, slots=True)
class TenantRepository:
    """Reads and changes tenants. The events of the changes name the `actor`."""

    table: Table
    actor: str
    """The subject of the operator, or `keyfence` for the service itself. Empty in a repository that only reads."""
    now: Callable[[], datetime] = timestamps.utc_now

    async def find(self, id: TenantId) -> Tenant | None:
        return await self.table.find(tenant_by_id, id=id)

    async def get(self, id: TenantId) -> Tenant:
        if (tenant := await self.find(id)) is None:
            raise NO_SUCH_TENANT()
        return tenant

    async def newest(self, *, status: TenantStatus | None, first: int, after: str | None) -> Page[Tenant]:
        """Returns a page of the tenants with this status, or of all tenants if `status` is None, the newest first."""
        pattern, values = (newest_tenants, {}) if status is None else (tenants_by_status, {"status": status})
        page = await page_over_time_buckets(
            self.table,
            pattern,
            between=ValueRange(),
            oldest=FIRST_MONTH,
            newest=self.now(),
            first=first,
            after=after,
            **values,
        )
        return await self._read_tenants(page)

    async def all(self) -> AsyncIterator[Tenant]:
        """Yields every tenant, the newest first."""
        after: str | None = None
        while True:
            page = await self.newest(status=None, first=MAX_PAGE_SIZE, after=after)
            for edge in page.edges:
                yield edge.node
            if not page.has_next:
                return
            after = page.edges[-1].cursor()

    async def events(self, id: TenantId, *, first: int, after: str | None) -> Page[TenantEvent]:
        return await self.table.page(events_of_tenant, first=first, after=after, tenant=id)

    async def find_issuer(self, issuer: str) -> TenantIssuer | None:
        return await self.table.find(issuer_by_digest, digest=issuer_digest(issuer))

    async def add_with_issuer(self, tenant: Tenant, issuer: TenantIssuer, detail: EventDetail) -> None:
        """Stores a new tenant and its issuer in one transaction. Raises Conflict if the id or the issuer is taken."""
        await self.table.write(
            put(tenants, tenant, when=absent(), on_failure=ID_TAKEN),
            put(issuers, issuer, when=absent(), on_failure=ISSUER_TAKEN),
            self.event(tenant.id, TenantEventKind.REGISTERED, detail),
        )

    async def add(self, tenant: Tenant) -> None:
        """Stores a new tenant whose tokens come from an issuer in the settings. Raises Conflict if the id is taken."""
        await self.table.write(
            put(tenants, tenant, when=absent(), on_failure=ID_TAKEN),
            self.event(tenant.id, TenantEventKind.ADDED, {"tier": tenant.tier}),
        )

    async def change(
        self,
        id: TenantId,
        kind: TenantEventKind,
        change: Callable[[Tenant], Tenant],
        *,
        detail: EventDetail,
        expected_version: int | None = None,
        more_writes: MoreWrites = _no_more_writes,
    ) -> Tenant:
        """Stores the tenant that `change` returns for the current tenant, and an event, in one transaction. Returns the
        stored tenant. If `change` returns the tenant unchanged, nothing is written.

        If another request changes the tenant at the same time, `change` and `more_writes` are called again."""
        return await retry_if_stale(lambda: self._change_once(id, kind, change, more_writes, detail, expected_version))

    async def _change_once(
        self,
        id: TenantId,
        kind: TenantEventKind,
        change: Callable[[Tenant], Tenant],
        more_writes: MoreWrites,
        detail: EventDetail,
        expected_version: int | None,
    ) -> Tenant:
        before = await self.get(id)
        require_version(before, expected_version, "tenant")
        after = change(before)
        if after == before:
            return before
        after = replace(after, version=before.version + 1, updated_at=self.now())
        await self.table.write(update_model(tenants, before, after), *await more_writes(), self.event(id, kind, detail))
        return after

    def event(self, id: TenantId, kind: TenantEventKind, detail: EventDetail) -> Write[TenantEvent]:
        """Returns the write that stores an event of this actor."""
        return put(events, new_event(id, kind, by=self.actor, at=self.now(), detail=detail))

    async def _read_tenants(self, page: Page[TenantSummary]) -> Page[Tenant]:
        """Reads the complete tenants of a page. The index lags behind the table, so a tenant in the page may already
        have another status than the one that was asked for."""
        tenants_read = await self.table.find_many(tenant_by_id, [{"id": edge.node.id} for edge in page.edges])
        edges = tuple(
            Edge(tenant, edge.cursor) for tenant, edge in zip(tenants_read, page.edges, strict=True) if tenant
        )
        return Page(edges=edges, has_next=page.has_next, has_previous=page.has_previous)
