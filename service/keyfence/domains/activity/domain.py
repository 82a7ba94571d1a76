"""Registers the activity log."""

from keyfence.domain import Domain
from keyfence.domains.activity import activity_log
from keyfence.domains.activity.graphql import ActivityQueries

DOMAIN = Domain(
    name="activity",
    access_patterns=(activity_log,),
    queries=(ActivityQueries,),
    new_activity_log=activity_log.new_activity_log,
)
