"""Tenants as operators read and change them. Every change is stored with an event."""

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
from keyfence_iam.tenant import parse_tenant_id as tenant_id

FIRST_MONTH = datetime(2026, 1, 1, tzinfo=UTC)
"""No tenant and no job is older than this."""

MISSING = partial(NotFound, "no such tenant")
ID_TAKEN = partial(Conflict, "another tenant has this id", field="id")
ISSUER_TAKEN = partial(Conflict, "another tenant has this issuer", field="issuer")

Detail = Mapping[str, object]
Also = Callable[[], Awaitable[Sequence[Write[Any]]]]


async def _nothing() -> Sequence[Write[Any]]:
    return ()


def parse_tenant_id(text: str, field: str = "id") -> TenantId:
    try:
        return tenant_id(text)
    except InvalidTenantId as error:
        raise BadInput(f"{field}: {error}", field=field) from None


@dataclass(frozen=True, slots=True)
class TenantRepository:
    """Reads and changes tenants in the name of one operator."""

    table: Table
    by: str
    now: Callable[[], datetime] = timestamps.utc_now

    async def find(self, id: TenantId) -> Tenant | None:
        return await self.table.find(tenant_by_id, id=id)

    async def get(self, id: TenantId) -> Tenant:
        if (tenant := await self.find(id)) is None:
            raise MISSING()
        return tenant

    async def newest(self, *, status: TenantStatus | None, first: int, after: str | None) -> Page[Tenant]:
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
        return await self._whole(page)

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

    async def claim(self, tenant: Tenant, identity: TenantIssuer, detail: Detail) -> None:
        """Stores a new tenant with its issuer, both or neither. Raises Conflict if the id or the issuer is taken."""
        await self.table.write(
            put(tenants, tenant, when=absent(), on_failure=ID_TAKEN),
            put(issuers, identity, when=absent(), on_failure=ISSUER_TAKEN),
            self.event(tenant.id, TenantEventKind.REGISTERED, detail),
        )

    async def add(self, tenant: Tenant) -> None:
        """Stores a new tenant whose tokens come from an issuer in the settings."""
        entered = self.event(tenant.id, TenantEventKind.ADDED, {"tier": tenant.tier})
        await self.table.write(put(tenants, tenant, when=absent(), on_failure=ID_TAKEN), entered)

    async def change(
        self,
        id: TenantId,
        kind: TenantEventKind,
        changed: Callable[[Tenant], Tenant],
        *,
        detail: Detail,
        expected_version: int | None = None,
        also: Also = _nothing,
    ) -> Tenant:
        """Stores what `changed` returns for the current tenant, with an event. Writes nothing if it changes nothing.

        `also` returns further writes for the same transaction. It is called again for every attempt."""
        return await retry_if_stale(lambda: self._change(id, kind, changed, also, detail, expected_version))

    async def _change(
        self,
        id: TenantId,
        kind: TenantEventKind,
        changed: Callable[[Tenant], Tenant],
        also: Also,
        detail: Detail,
        expected: int | None,
    ) -> Tenant:
        before = await self.get(id)
        require_version(before, expected, "tenant")
        after = changed(before)
        if after == before:
            return before
        after = replace(after, version=before.version + 1, updated_at=self.now())
        await self.table.write(update_model(tenants, before, after), *await also(), self.event(id, kind, detail))
        return after

    def event(self, id: TenantId, kind: TenantEventKind, detail: Detail) -> Write[TenantEvent]:
        return put(events, new_event(id, kind, by=self.by, at=self.now(), detail=detail))

    async def _whole(self, page: Page[TenantSummary]) -> Page[Tenant]:
        """Reads the whole tenants of a page of summaries. A tenant whose status has just changed stays in the page."""
        found = await self.table.find_many(tenant_by_id, [{"id": edge.node.id} for edge in page.edges])
        edges = tuple(Edge(tenant, edge.cursor) for tenant, edge in zip(found, page.edges, strict=True) if tenant)
        return Page(edges=edges, has_next=page.has_next, has_previous=page.has_previous)
