"""Migrations as operators see them."""

from datetime import datetime

import orjson
import strawberry
from strawberry.scalars import JSON

from keyfence.admin.context import Info
from keyfence.migrations.records import checked_migration
from keyfence.tenancy import migration as model


@strawberry.type(description="A change of many items, and how far it has come.")
class Migration:
    """`phase` is spelled by its kind, and FINISHED at the end."""

    id: strawberry.ID
    tenant: strawberry.ID = strawberry.field(description="`*` where it goes over all tenants.")
    kind: str
    phase: str
    by: str
    detail: JSON
    items_scanned: int = strawberry.field(description="In the pass that is under way, or was the last.")
    items_copied: int = strawberry.field(description="Changed so far.")
    items_total: int | None
    counts: JSON = strawberry.field(description="What else the pass counts that is under way, or was the last.")
    started_at: datetime
    finished_at: datetime | None

    @classmethod
    def of(cls, source: model.Migration) -> "Migration":
        return cls(
            id=strawberry.ID(source.id),
            tenant=strawberry.ID(source.tenant),
            kind=source.kind,
            phase=source.phase,
            by=source.by,
            detail=JSON(orjson.loads(source.detail)),
            items_scanned=source.items_scanned,
            items_copied=source.items_copied,
            items_total=source.items_total,
            counts=JSON(dict(source.counts)),
            started_at=source.created_at,
            finished_at=source.finished_at,
        )


@strawberry.type
class MigrationQueries:
    """Questions about migrations."""

    @strawberry.field
    async def migration(self, info: Info, id: strawberry.ID) -> Migration | None:
        found = await info.context.migrations.find(checked_migration(id))
        return Migration.of(found) if found else None
