"""Entries of the journal."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import NewType

import orjson

from keyfence.store.money import money
from keyfence.store.note import Note

ActivityId = NewType("ActivityId", str)

RETENTION = timedelta(days=90)
DETAIL_BYTES = 8_192


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """Something that somebody did; `detail` is JSON text and `ttl` when the entry may go, in seconds since 1970."""

    id: ActivityId
    by: str
    kind: str
    detail: str
    ttl: int
    created_at: datetime
    updated_at: datetime
    target: str | None = None
    version: int = 1


def entry(id: ActivityId, note: Note, by: str, now: datetime) -> Activity:
    return Activity(
        id=id,
        by=by,
        kind=note.kind,
        target=note.target,
        detail=_detail(note),
        ttl=int((now + RETENTION).timestamp()),
        created_at=now,
        updated_at=now,
    )


def _detail(note: Note) -> str:
    """What would not fit is told by its names alone."""
    text = orjson.dumps(note.detail, default=_text)
    if len(text) > DETAIL_BYTES:
        text = orjson.dumps({"changed": sorted({name for part in note.detail.values() for name in _names(part)})})
    return text.decode()


def _text(value: object) -> str:
    return money(value) if isinstance(value, Decimal) else str(value)


def _names(part: object) -> list[str]:
    return list(part) if isinstance(part, dict) else []
