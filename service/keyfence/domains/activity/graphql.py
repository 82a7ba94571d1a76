"""GraphQL type and query of the activity log."""

from datetime import datetime
from typing import Annotated

import orjson
import strawberry
from strawberry.scalars import JSON

from keyfence.domains.activity import activity_log
from keyfence.graphql.context import Context, Info
from keyfence.graphql.relay_types import Connection, connection, page_size


def activity_repository(context: Context) -> activity_log.ActivityRepository:
    return activity_log.ActivityRepository(context.table)


@strawberry.type(description="An action of a user.")
class Activity:
    """An entry of the activity log."""

    id: strawberry.ID
    created_at: datetime = strawberry.field(name="at")
    actor: str = strawberry.field(name="by")
    kind: str
    target: strawberry.ID | None
    source: strawberry.Private[activity_log.Activity]

    @classmethod
    def of(cls, activity: activity_log.Activity) -> "Activity":
        return cls(
            id=strawberry.ID(activity.id),
            created_at=activity.created_at,
            actor=activity.actor,
            kind=activity.kind,
            target=None if activity.target is None else strawberry.ID(activity.target),
            source=activity,
        )

    @strawberry.field(description="The changed fields, with their values before and after.")
    def detail(self) -> JSON | None:
        return orjson.loads(self.source.detail) or None


@strawberry.type
class ActivityQueries:
    """The query of the activity log."""

    @strawberry.field(description="The actions of users in the last 90 days, newest first.")
    async def activity(
        self,
        info: Info,
        since: Annotated[datetime | None, strawberry.argument(name="from")] = None,
        until: Annotated[datetime | None, strawberry.argument(name="to")] = None,
        first: int | None = 20,
        after: str | None = None,
    ) -> Connection[Activity]:
        page = await info.context.get(activity_repository).latest(
            since=since, until=until, first=page_size(first), after=after
        )
        return connection(page, Activity.of)
