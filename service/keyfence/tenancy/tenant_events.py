"""`TenantEvent`: a change of a tenant, as operators read it later."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NewType

import orjson

from keyfence.store.ids import new_id
from keyfence_iam.tenant import TenantId

EventId = NewType("EventId", str)


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantEvent:
    """Something that happened to a tenant. `detail` is a JSON object without any of the tenant's own data."""

    id: EventId
    tenant: TenantId
    kind: str
    by: str
    detail: str
    created_at: datetime
    updated_at: datetime
    version: int = 1


def new_event(tenant: TenantId, kind: str, *, by: str, at: datetime, detail: Mapping[str, object]) -> TenantEvent:
    return TenantEvent(
        id=EventId(new_id("tev")),
        tenant=tenant,
        kind=kind,
        by=by,
        detail=orjson.dumps(detail, default=str).decode(),
        created_at=at,
        updated_at=at,
    )
