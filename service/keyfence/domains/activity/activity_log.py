"""`Activity`: an entry of the activity log, with its keys, its writer (`new_activity_log`) and its repository."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, NewType

import orjson

from keyfence.store import timestamps
from keyfence.store.codec import amount_text
from keyfence.store.entity import entity
from keyfence.store.ids import new_id
from keyfence.store.keys import TenantKey, ValueRange
from keyfence.store.pagination import Page
from keyfence.store.shards import Sharding
from keyfence.store.table import Table
from keyfence.store.time_buckets import page_over_time_buckets
from keyfence.store.writes import ActivityLog, ActivityNote, Write, put

ActivityId = NewType("ActivityId", str)

ACTIVITY_RETENTION = timedelta(days=90)
MAX_DETAIL_BYTES = 8_192
"""The largest length of a detail as JSON. Of a longer detail, only the names of the changed fields are stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """An action of a user. `detail` is JSON. DynamoDB may delete the entry after `ttl`, in seconds since 1970."""

    id: ActivityId
    actor: str
    kind: str
    detail: str
    ttl: int
    created_at: datetime
    updated_at: datetime
    target: str | None = None
    version: int = 1


def new_activity(id: ActivityId, note: ActivityNote, actor: str, now: datetime) -> Activity:
    return Activity(
        id=id,
        actor=actor,
        kind=note.kind,
        target=note.target,
        detail=_detail_json(note),
        ttl=int((now + ACTIVITY_RETENTION).timestamp()),
        created_at=now,
        updated_at=now,
    )


def _detail_json(note: ActivityNote) -> str:
    """Returns the detail as JSON. If the detail is too large, the JSON has only the names of the changed fields."""
    detail_json = orjson.dumps(note.detail, default=_value_text)
    if len(detail_json) > MAX_DETAIL_BYTES:
        field_groups = (group for group in note.detail.values() if isinstance(group, dict))
        detail_json = orjson.dumps({"changed": sorted({name for group in field_groups for name in group})})
    return detail_json.decode()


def _value_text(value: object) -> str:
    return amount_text(value) if isinstance(value, Decimal) else str(value)


activities = entity(
    Activity,
    table=TenantKey(
        "ACTIVITY#{created_at:month}", "{created_at}#{id}", sharding=Sharding("activity", hashed_field="id")
    ),
    gsi1=TenantKey("USERACT#{actor}#{created_at:month}", "{created_at}#{id}"),
    index_fields=("target",),
)

latest_activity = activities.query("table", newest_first=True, range_field="created_at")
activity_of_user = activities.query("gsi1", newest_first=True, range_field="created_at")


def new_activity_log(actor: str, now: Callable[[], datetime] = timestamps.utc_now) -> ActivityLog:
    """Returns a function that turns the activity notes of one actor into writes."""

    def to_write(note: ActivityNote) -> Write[Any]:
        return put(activities, new_activity(ActivityId(new_id("act")), note, actor, now()))

    return to_write


@dataclass(frozen=True, slots=True)
class ActivityRepository:
    """The activity log of the tenant that the table belongs to."""

    table: Table
    now: Callable[[], datetime] = timestamps.utc_now

    async def latest(
        self, *, first: int, after: str | None, since: datetime | None = None, until: datetime | None = None
    ) -> Page[Activity]:
        now = self.now()
        return await page_over_time_buckets(
            self.table,
            latest_activity,
            between=ValueRange(low=since, high=until),
            oldest=now - ACTIVITY_RETENTION,
            newest=now,
            first=first,
            after=after,
        )

    async def of_user(self, user_id: str, *, first: int, after: str | None) -> Page[Activity]:
        now = self.now()
        return await page_over_time_buckets(
            self.table,
            activity_of_user,
            between=ValueRange(),
            oldest=now - ACTIVITY_RETENTION,
            newest=now,
            first=first,
            after=after,
            actor=user_id,
        )
