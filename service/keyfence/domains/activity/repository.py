"""The journal of the tenant that the table at hand belongs to."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from keyfence.domains.activity.access import activities, activity_of_user, latest_activity
from keyfence.domains.activity.model import RETENTION, Activity, ActivityId, entry
from keyfence.store import clock
from keyfence.store.ids import new_id
from keyfence.store.note import Journal, Note
from keyfence.store.pagination import Page
from keyfence.store.stretch import Span
from keyfence.store.table import Table
from keyfence.store.time_buckets import timeline
from keyfence.store.write import Write, put


def journal(by: str, now: Callable[[], datetime] = clock.now) -> Journal:
    """Keeps notes in the name of one who acts."""

    def keep(note: Note) -> Write[Any]:
        return put(activities, entry(ActivityId(new_id("act")), note, by, now()))

    return keep


@dataclass(frozen=True, slots=True)
class Activities:
    """What has happened, newest first, as far back as the journal is kept."""

    table: Table
    now: Callable[[], datetime] = clock.now

    async def latest(
        self, *, first: int, after: str | None, since: datetime | None = None, until: datetime | None = None
    ) -> Page[Activity]:
        now, span = self.now(), Span(low=since, high=until)
        return await timeline(
            self.table, latest_activity, span=span, oldest=now - RETENTION, newest=now, first=first, after=after
        )

    async def of_user(self, by: str, *, first: int, after: str | None) -> Page[Activity]:
        now = self.now()
        return await timeline(
            self.table,
            activity_of_user,
            span=Span(),
            oldest=now - RETENTION,
            newest=now,
            first=first,
            after=after,
            by=by,
        )
