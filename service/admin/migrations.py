"""Migrations as operators see them."""

from datetime import datetime

import strawberry

from service.tenancy import migration


@strawberry.type(description="A change of many items, and how far it has come.")
class Migration:
    """`phase` is in the words of its kind."""

    id: strawberry.ID
    tenant: strawberry.ID
    kind: str
    phase: str
    items_copied: int
    items_total: int | None
    started_at: datetime
    finished_at: datetime | None

    @classmethod
    def of(cls, found: migration.Migration) -> "Migration":
        return cls(
            id=strawberry.ID(found.id),
            tenant=strawberry.ID(found.tenant),
            kind=found.kind,
            phase=found.phase,
            items_copied=found.items_copied,
            items_total=found.items_total,
            started_at=found.created_at,
            finished_at=found.finished_at,
        )
