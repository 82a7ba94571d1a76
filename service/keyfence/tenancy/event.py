"""Events: what happened to a tenant, and which operator made it happen."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NewType

import orjson

from keyfence.store.ids import new_id
from keyfence_iam.boundary import TenantId

EventId = NewType("EventId", str)


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantEvent:
    """`detail` is JSON text; nothing of the tenant's own data stands in it."""

    id: EventId
    tenant: TenantId
    kind: str
    by: str
    detail: str
    created_at: datetime
    updated_at: datetime
    version: int = 1


def event(tenant: TenantId, kind: str, *, by: str, at: datetime, detail: Mapping[str, object]) -> TenantEvent:
    return TenantEvent(
        id=EventId(new_id("tev")),
        tenant=tenant,
        kind=kind,
        by=by,
        detail=orjson.dumps(detail, default=str).decode(),
        created_at=at,
        updated_at=at,
    )
