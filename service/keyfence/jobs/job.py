"""`OffboardingState` record, `ScanCheckpoint`, kinds, keys and patterns."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import NewType

import orjson

from keyfence.errors import BadInput
from keyfence.store.entity import entity
from keyfence.store.ids import new_id
from keyfence.store.keys import ControlKey
from keyfence_iam.tenant import TenantId

JobId = NewType("JobId", str)

PREFIX = "mig"
MOST_SEGMENTS = 64
"""All of them are kept in one transaction, which takes 100 items."""

EVERY_TENANT = TenantId("*")
"""Whose a migration is that goes over all of them."""


class JobKind(StrEnum):
    """What a migration is for."""

    RESHARD = "RESHARD"
    MOVE = "MOVE"
    KEYS = "KEYS"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """`phase` is what is under way, in the words of its kind; a pass over items is a phase by its own name."""

    id: JobId
    tenant: TenantId
    kind: JobKind
    by: str
    phase: str
    segments: int
    """How many parts of a table are gone over at once, in every pass of this migration."""
    detail: str = "{}"
    """What it was asked to do, as JSON text."""
    round: int = 1
    items_scanned: int = 0
    """In the pass that is under way, or was the last."""
    items_copied: int = 0
    """Changed, in all passes."""
    items_total: int | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    """What else the pass counts that is under way, or was the last."""
    worker: str | None = None
    leased_until: datetime | None = None
    finished_at: datetime | None = None
    created_at: datetime
    updated_at: datetime
    version: int = 1


def new_job(
    kind: JobKind,
    tenant: TenantId,
    *,
    by: str,
    at: datetime,
    phase: str = "BEGUN",
    segments: int = 1,
    detail: Mapping[str, object] | None = None,
) -> Job:
    if not 1 <= segments <= MOST_SEGMENTS:
        raise BadInput(f"a migration has 1 to {MOST_SEGMENTS} segments", field="segments")
    return Job(
        id=JobId(new_id(PREFIX)),
        tenant=tenant,
        kind=kind,
        by=by,
        phase=phase,
        segments=segments,
        detail=orjson.dumps(detail or {}).decode(),
        created_at=at,
        updated_at=at,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanCheckpoint:
    """A part of a pass, as far as its items were dealt with."""

    migration: JobId
    name: str
    """Of the pass."""
    number: int
    of: int
    after: str | None = None
    """Where the scan goes on: DynamoDB's LastEvaluatedKey as JSON text."""
    scanned: int = 0
    changed: int = 0
    wrong: int = 0
    digest: str = ""
    """Of what was changed, or compared, in whatever order."""
    counts: Mapping[str, int] = field(default_factory=dict)
    done: bool = False
    created_at: datetime
    updated_at: datetime
    version: int = 0
    """0 before it was ever kept."""


migrations = entity(Job, table=ControlKey("MIGRATION#{id}", "METADATA"))
segments = entity(ScanCheckpoint, table=ControlKey("MIGRATION#{migration}", "SEGMENT#{name}#{number:03d}"))
migration_by_id = migrations.get()
segment_by_number = segments.get()
